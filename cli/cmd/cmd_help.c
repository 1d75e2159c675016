/* SPDX-License-Identifier: MIT */
/* cmd_help.c: fredctl help. */
#include <stdio.h>

#include "cmd/commands.h"
#include "args/help.h"
#include "client/out.h"

static int exec_help(struct cli *cli, struct err *e)
{
	const struct cli_command *c = NULL;

	if (cli->args.n && !(c = cli_command_find(cli, cli->args.s[0], e)))
		return -1;
	if (cli->json) {
		json_auto_t *v = help_json(cli->commands);

		return out_json(v, e);
	}
	if (c)
		help_command(stdout, c);
	else
		help_overview(stdout, cli->commands);
	return 0;
}

const struct cli_command cmd_help = {
	.name = "help",
	.help = "list the commands, or explain one",
	.usage = "[COMMAND]",
	.exec = exec_help,
	.max_args = 1,
	.word = WORD_COMMAND,
};
