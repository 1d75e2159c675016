/* SPDX-License-Identifier: MIT */
/* cmd_debug.c: fredctl debug: GDB on a recording, forwards and backwards. */
#include <signal.h>

#include "base/str.h"
#include "cli/bridge.h"
#include "cli/commands.h"
#include "cli/gdb_run.h"
#include "cli/recarg.h"

static const struct cli_option options[] = {
	{"at", "POS", "begin at this position (start)", .word = WORD_POS},
	RECARG_PROCESS_OPTION,
	{0},
};

static int exec_debug(struct cli *cli, struct err *e)
{
	cleanup_strv struct strv args = {0};
	struct bridge b;
	json_t *params;
	int code = 0, r;

	params = recarg_at_params(cli, e);
	if (!params)
		return -1;
	signal(SIGPIPE, SIG_IGN);
	r = bridge_start(&b, cli, params, &code, e);
	if (!r) {
		strv_add(&args, "-q");
		r = gdb_run(&b, &(struct gdb_run){.args = &args}, &code, e);
	}
	bridge_end(&b);
	return r < 0 ? -1 : code;
}

const struct cli_command cmd_debug = {
	.name = "debug",
	.help = "GDB on a recording, forwards and backwards",
	.usage = "[REC] [--at POS] [--process N]",
	.options = options,
	.exec = exec_debug,
	.max_args = 1,
	.word = WORD_REC,
};
