/* SPDX-License-Identifier: MIT */
/* cmd_completion.c: fredctl completion. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cmd/commands.h"
#include "args/help.h"
#include "client/out.h"

static int print_json(const struct cli *cli, struct err *e)
{
	json_auto_t *v = NULL;
	cleanup_free char *script = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&script, &len);

	if (!f)
		return err_errno(e, ERR_INTERNAL, "open_memstream");
	completion_bash(f, cli->commands);
	fclose(f);
	v = json_pack("{s:s, s:s}", "shell", "bash", "script", script);
	return out_json(v, e);
}

static int exec_completion(struct cli *cli, struct err *e)
{
	if (cli->args.n && !str_eq(cli->args.s[0], "bash"))
		return err_set(e, ERR_USAGE, "completion: there is none for '%s', only for bash",
			       cli->args.s[0]);
	if (cli->json)
		return print_json(cli, e);
	completion_bash(stdout, cli->commands);
	return 0;
}

const struct cli_command cmd_completion = {
	.name = "completion",
	.help = "print the shell completion script",
	.usage = "[bash]",
	.exec = exec_completion,
	.max_args = 1,
};
