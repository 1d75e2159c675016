/* SPDX-License-Identifier: MIT */
/* cmd_dap.c: fredctl dap: the Debug Adapter Protocol. The adapter is a program of its own (cli/dap), which starts `mi`. */
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cmd/commands.h"
#include "client/paths.h"
#include "client/rec_arg.h"

static const struct cli_option options[] = {
	{"at", "POS", "begin at this position (start)", .word = WORD_POS},
	REC_ARG_PROCESS_OPTION,
	{0},
};

static void add_option(struct strv *argv, const struct cli *cli, const char *name)
{
	if (cli_has(cli, name))
		strv_addf(argv, "--%s=%s", name, cli_value(cli, name));
}

static int exec_dap(struct cli *cli, struct err *e)
{
	cleanup_strv struct strv argv = {0};
	cleanup_free char *adapter = paths_dap(e), *self = realpath("/proc/self/exe", NULL), *rec = NULL;

	if (!adapter || !self)
		return adapter ? err_errno(e, ERR_HOST, "/proc/self/exe") : -1;
	strv_add_all(&argv, (const char *const[]){adapter, self, "mi", NULL});
	if (cli->args.n) {
		rec = paths_recording(cli->args.s[0], e);
		if (!rec)
			return -1;
		strv_addf(&argv, "--rec=%s", rec);
	}
	add_option(&argv, cli, "at");
	add_option(&argv, cli, "process");
	execv(adapter, argv.s);
	return err_errno(e, ERR_HOST, "%s", adapter);
}

const struct cli_command cmd_dap = {
	.name = "dap",
	.help = "the Debug Adapter Protocol for editors, with steps back",
	.usage = "[REC] [--at POS] [--process N]",
	.options = options,
	.exec = exec_dap,
	.max_args = 1,
	.word = WORD_REC,
};
