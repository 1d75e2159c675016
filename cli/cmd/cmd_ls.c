/* SPDX-License-Identifier: MIT */
/* cmd_ls.c: fredctl ls and rm: the recordings in $FRED_HOME. */
#include <stdio.h>

#include "client/out.h"
#include "client/out_text.h"
#include "cmd/commands.h"
#include "recfiles/recordings.h"

static void print(const json_t *recordings)
{
	char end[32], size[32];
	json_t *o;
	size_t i;

	json_array_foreach((json_t *)recordings, i, o)
	{
		text_exit(json_object_get(o, "damaged") ? NULL : json_object_get(o, "exit"),
			  json_object_get(o, "damaged") ? "damaged" : "unfinished", end);
		printf("%-20s %.19s  %-10s %8.2f s %9s ", out_str(o, "name", "?"), out_str(o, "created", "?"), end,
		       out_real(o, "wall_s"), out_bytes((unsigned long long)out_int(o, "bytes"), size));
		text_argv(json_object_get(o, "argv"));
		putchar('\n');
	}
}

static int exec_ls(struct cli *cli, struct err *e)
{
	json_t *list = recordings_list(e);
	json_auto_t *v = list ? json_pack("{s:o}", "recordings", list) : NULL;

	if (!v)
		return -1;
	if (cli->json)
		return out_json(v, e);
	print(list);
	return 0;
}

const struct cli_command cmd_ls = {
	.name = "ls",
	.help = "list the recordings",
	.usage = "",
	.exec = exec_ls,
};

static int exec_rm(struct cli *cli, struct err *e)
{
	json_t *removed = recordings_remove(cli, &cli->args, e);
	json_auto_t *v = removed ? json_pack("{s:o}", "removed", removed) : NULL;

	if (!v)
		return -1;
	return cli->json ? out_json(v, e) : 0;
}

const struct cli_command cmd_rm = {
	.name = "rm",
	.help = "remove recordings",
	.usage = "REC...",
	.exec = exec_rm,
	.min_args = 1,
	.max_args = ~0u,
	.word = WORD_REC,
};
