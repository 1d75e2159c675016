/* SPDX-License-Identifier: MIT */
/* cmd_repl.c: fredctl repl: a prompt of fred's own on any session; it is a program of its own (cli/repl). */
#include "base/cleanup.h"
#include "frontend/attach.h"
#include "cmd/commands.h"
#include "client/paths.h"

static const struct cli_option options[] = {
	{"new", "REC", "on a new session of this recording", .word = WORD_REC},
	{0},
};

static int exec_repl(struct cli *cli, struct err *e)
{
	static const char *const none[] = {NULL};
	cleanup_free char *rec = cli_value(cli, "new") ? paths_recording(cli_value(cli, "new"), e) : NULL;
	struct attach a = {.hold = -1};
	int r = -1;

	if (cli_value(cli, "new") && !rec)
		return -1;
	if (rec && cli->args.n)
		return err_set(e, ERR_USAGE, "repl: a session, or --new REC");
	if (!attach_open(&a, cli->args.n ? cli->args.s[0] : NULL, rec, e))
		r = attach_repl(&a, none, e);
	attach_close(&a);
	return r;
}

const struct cli_command cmd_repl = {
	.name = "repl",
	.help = "a prompt on any debugging session, also one that runs elsewhere",
	.usage = "[ID | --new REC]",
	.options = options,
	.exec = exec_repl,
	.max_args = 1,
};
