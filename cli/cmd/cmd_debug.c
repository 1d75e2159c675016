/* SPDX-License-Identifier: MIT */
/* cmd_debug.c: fredctl debug: GDB on a recording, or on a program that is recorded meanwhile, forwards and backwards.
 */
#include <signal.h>

#include "base/str.h"
#include "bridge/session.h"
#include "client/rec_arg.h"
#include "cmd/commands.h"
#include "frontend/debug.h"
#include "live/live.h"

static const struct cli_option options[] = {
	{"at", "POS", "begin at this position (start)", .word = WORD_POS},
	{"resume", "ID", "continue this session (fredctl sessions lists them; latest: the one that ran last)"},
	REC_ARG_PROCESS_OPTION,
	{"pid", "PID",
	 "debug what this process, which is being recorded, has done so far (from its end, unless --at is given)",
	 .letter = 'p'},
	{"output", "DIR", "of a PROGRAM: put the recording of its first run into DIR (default: under $FRED_HOME)",
	 .word = WORD_DIR, .letter = 'o'},
	{"sched", "MODE", "of a PROGRAM: as of record (serial)", "parallel serial chaos chaos:"},
	{"x", "FILE", "GDB's own: commands from a file", .word = WORD_FILE, .repeated = true, .gdb = true},
	{"ex", "CMD", "GDB's own: a command; -x and -ex in their order", .repeated = true, .gdb = true},
	{"batch", NULL, "GDB's own: ask no questions, and end after those commands", .gdb = true},
	{0},
};

/* A new session, or one that is resumed; the params of the method `debug`, or NULL. */
static json_t *open_session(const struct cli *cli, struct session *s, struct err *e)
{
	const char *id = cli_value(cli, "resume"), *pid = cli_value(cli, "pid");
	json_t *params = NULL;
	int r = 0;

	if (pid && (id || cli->args.n || cli_has(cli, "process"))) {
		err_set(e, ERR_USAGE, "--pid: the process determines the recording");
		return NULL;
	}
	if (id && (cli->args.n || cli_has(cli, "process"))) {
		err_set(e, ERR_USAGE, "--resume: the session determines the recording and the process");
		return NULL;
	}
	if (id)
		r = session_resume(s, id, &params, e);
	else if ((params = pid ? rec_arg_pid_params(cli, e) : rec_arg_at_params(cli, e)))
		r = session_new(s, params, e);
	if (r) {
		json_decref(params);
		return NULL;
	}
	if (id && params)
		rec_arg_option(params, cli, "at", "at");
	return params;
}

static int exec_debug(struct cli *cli, struct err *e)
{
	cleanup_session struct session s = {.lock = -1};
	json_t *params;
	int code = 0;

	if (!cli->dashes && cli->args.n > 1)
		return err_set(e, ERR_USAGE, "debug: too many arguments: '%s'; the program comes after --",
			       cli->args.s[1]);
	signal(SIGPIPE, SIG_IGN);
	if (cli->dashes && cli->args.n)
		return live_debug(cli, &code, e) < 0 ? -1 : code;
	params = open_session(cli, &s, e);
	return params ? debug_recording(cli, &s, params, !cli_has(cli, "resume"), e) : -1;
}

const struct cli_command cmd_debug = {
	.name = "debug",
	.help = "debug a recording or a program with GDB, forwards and backwards",
	.usage = "[REC] [--at POS] [--process N] | --pid PID | --resume ID [--at POS] | [-o DIR] [--sched MODE] -- "
		 "PROGRAM "
		 "[ARG...]  [-x FILE] [-ex CMD] [-batch]",
	.options = options,
	.exec = exec_debug,
	.max_args = 10000,
	.word = WORD_REC,
};
