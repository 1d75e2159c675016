/* SPDX-License-Identifier: MIT */
/* cmd_help.c: fredctl help, version and completion. */
#include <stdio.h>
#include <stdlib.h>

#include "args/help.h"
#include "base/cleanup.h"
#include "client/out.h"
#include "cmd/commands.h"
#include "rlog/rlog.h"
#include "wire/methods.h"

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

static int exec_version(struct cli *cli, struct err *e)
{
	json_auto_t *v = json_pack("{s:s, s:i, s:i}", "version", FRED_VERSION, "recording_format", (int)RLOG_VERSION,
				   "protocol", WIRE_PROTOCOL);

	if (cli->json)
		return out_json(v, e);
	puts("fredctl " FRED_VERSION);
	return 0;
}

const struct cli_command cmd_version = {
	.name = "version",
	.help = "print the version",
	.usage = "",
	.exec = exec_version,
};

static int print_completion_json(const struct cli *cli, struct err *e)
{
	json_auto_t *v = NULL;
	cleanup_free char *script = NULL;
	size_t len = 0;
	const char *shell = cli->args.n ? cli->args.s[0] : "bash";
	FILE *f = open_memstream(&script, &len);
	int r;

	if (!f)
		return err_errno(e, ERR_INTERNAL, "open_memstream");
	r = completion_print(f, shell, cli->commands, e);
	fclose(f);
	if (r)
		return r;
	v = json_pack("{s:s, s:s}", "shell", shell, "script", script);
	return out_json(v, e);
}

static int exec_completion(struct cli *cli, struct err *e)
{
	if (cli->json)
		return print_completion_json(cli, e);
	return completion_print(stdout, cli->args.n ? cli->args.s[0] : NULL, cli->commands, e);
}

const struct cli_command cmd_completion = {
	.name = "completion",
	.help = "print the shell completion script",
	.usage = "[bash|zsh|fish]",
	.exec = exec_completion,
	.max_args = 1,
	.word = WORD_SHELL,
};
