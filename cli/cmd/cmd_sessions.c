/* SPDX-License-Identifier: MIT */
/* cmd_sessions.c: fredctl sessions: the debugging sessions, the one that ran last at the end. */
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/commands.h"
#include "client/out.h"
#include "bridge/session.h"

static const struct cli_option options[] = {
	{"rm", "ID", "remove this one, which must not run", .repeated = true},
	{0},
};

static void print(const json_t *list)
{
	size_t i;
	json_t *v;

	json_array_foreach((json_t *)list, i, v) {
		time_t used = (time_t)out_int(v, "used");
		struct tm tm;
		char when[32];

		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", gmtime_r(&used, &tm));
		printf("%-4s %-8s %s  event %lld of %lld%s%s  %s", out_str(v, "id", "?"), out_str(v, "state", "?"), when,
		       (long long)out_int(v, "event"), (long long)out_int(v, "events_total"),
		       json_object_get(v, "pc") ? ", " : "", out_str(v, "pc", ""), path_base(out_str(v, "recording", "?")));
		if (out_int(v, "checkpoints"))
			printf(", %lld checkpoints", (long long)out_int(v, "checkpoints"));
		if (out_int(v, "bookmarks"))
			printf(", %lld bookmarks", (long long)out_int(v, "bookmarks"));
		putchar('\n');
	}
}

static int exec_sessions(struct cli *cli, struct err *e)
{
	const struct strv *gone = cli_values(cli, "rm");
	json_auto_t *v = NULL;
	json_t *list;

	for (size_t i = 0; i < gone->n; i++)
		if (session_remove(gone->s[i], e))
			return -1;
	list = session_list(e);
	if (!list)
		return -1;
	v = json_pack("{s:o}", "sessions", list);
	if (cli->json)
		return out_json(v, e);
	print(list);
	return 0;
}

const struct cli_command cmd_sessions = {
	.name = "sessions",
	.help = "list the debugging sessions",
	.usage = "[--rm ID]...",
	.options = options,
	.exec = exec_sessions,
};
