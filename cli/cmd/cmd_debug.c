/* SPDX-License-Identifier: MIT */
/* cmd_debug.c: fredctl debug: GDB on a recording, or on a program that is recorded meanwhile, forwards and backwards. */
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "frontend/attach.h"
#include "bridge/bridge.h"
#include "cmd/commands.h"
#include "frontend/gdb_run.h"
#include "live/live.h"
#include "client/out.h"
#include "client/rec_arg.h"
#include "bridge/second_ui.h"
#include "bridge/session.h"
#include "reclog/procs.h"

static const struct cli_option options[] = {
	{"at", "POS", "begin at this position (start)", .word = WORD_POS},
	{"resume", "ID", "go on with this session (fredctl sessions; latest: the one that ran last)"},
	REC_ARG_PROCESS_OPTION,
	{"output", "DIR", "of a PROGRAM: make the recording of the first run there instead of under $FRED_HOME", .word = WORD_DIR,
	 .letter = 'o'},
	{"sched", "MODE", "of a PROGRAM: as of record (serial)", "parallel serial chaos chaos:"},
	{"x", "FILE", "GDB's own: commands from a file", .word = WORD_FILE, .repeated = true, .gdb = true},
	{"ex", "CMD", "GDB's own: a command; -x and -ex in their order", .repeated = true, .gdb = true},
	{"batch", NULL, "GDB's own: no questions, and end behind those commands", .gdb = true},
	{0},
};

/* A new session, or one that goes on; the params of the method `debug`, or NULL. */
static json_t *open_session(const struct cli *cli, struct session *s, struct err *e)
{
	const char *id = cli_value(cli, "resume");
	json_t *params = NULL;
	int r = 0;

	if (id && (cli->args.n || cli_has(cli, "process"))) {
		err_set(e, ERR_USAGE, "--resume: the session says which recording and process it is of");
		return NULL;
	}
	if (id)
		r = session_resume(s, id, &params, e);
	else if ((params = rec_arg_at_params(cli, e)))
		r = session_new(s, params, e);
	if (r) {
		json_decref(params);
		return NULL;
	}
	if (id && params)
		rec_arg_option(params, cli, "at", "at");
	return params;
}

static void say_saved(struct err *e, const char *id)
{
	struct err was = *e;

	err_set(e, was.kind, "%s; the session is saved: fredctl debug --resume %s", was.text, id);
}

/* Of several. */
static void say_process(const struct cli *cli, const json_t *params)
{
	uint32_t n = (uint32_t)json_integer_value(json_object_get(params, "process"));
	const struct rec_image *img;
	struct err ignored;
	struct rec *rec;

	if (rec_open(json_string_value(json_object_get(params, "rec")), &rec, &ignored))
		return;
	img = rec->nimages > 1 ? rec_image(rec, n ? n : procs_default(rec), &ignored) : NULL;
	if (img) {
		struct procs_ending end = procs_ending(rec, img);
		cleanup_free char *how = procs_ending_text(&end);
		const char *argv0 = procs_argv(rec, img)[0];

		out_note(cli, "process %u of %u, PID %d, %s, which %s; fredctl ps lists them, --process takes a number, a PID or a name", img->ordinal,
			 rec->nimages, (int)img->head.pid, argv0 ? argv0 : "?", how);
	}
	rec_free(rec);
}

static int debug_recording(const struct cli *cli, struct err *e)
{
	cleanup_session struct session s = {.lock = -1};
	cleanup_strv struct strv args = {0};
	struct second_ui second = {.master = -1, .slave = -1, .listener = -1, .client = -1};
	struct gdb_run how = {.args = &args, .once = &cli->gdb, .second = &second};
	struct bridge b;
	json_t *params = open_session(cli, &s, e);
	int code = 0, r;

	if (!params)
		return -1;
	say_process(cli, params);
	how.state = s.state;
	json_object_set_new(params, "session", json_text(s.dir, strlen(s.dir)));
	r = bridge_start(&b, cli, params, &code, e);
	if (!r) {
		strv_add(&args, "-q");
		r = second_ui_open(&second, &b, s.dir, e);
		if (!r) {
			how.unseen = attach_tell_ready(s.dir);
			r = gdb_run(&b, &how, &code, e);
		}
		if (r < 0)
			say_saved(e, s.id);
		second_ui_close(&second);
	} else if (bridge_is_parent(&b) && !cli_has(cli, "resume")) {
		session_discard(&s); /* it never began */
	}
	bridge_end(&b);
	return r < 0 ? -1 : code;
}

static int exec_debug(struct cli *cli, struct err *e)
{
	int code = 0, r;

	if (!cli->dashes && cli->args.n > 1)
		return err_set(e, ERR_USAGE, "debug: too many arguments: '%s'; a program is named behind --", cli->args.s[1]);
	signal(SIGPIPE, SIG_IGN);
	if (!cli->dashes || !cli->args.n)
		return debug_recording(cli, e);
	r = live_debug(cli, &code, e);
	return r < 0 ? -1 : code;
}

const struct cli_command cmd_debug = {
	.name = "debug",
	.help = "GDB on a recording or on a program, forwards and backwards",
	.usage = "[REC] [--at POS] [--process N] | --resume ID [--at POS] | [-o DIR] [--sched MODE] -- PROGRAM [ARG...]  [-x FILE] [-ex CMD] [-batch]",
	.options = options,
	.exec = exec_debug,
	.max_args = 10000,
	.word = WORD_REC,
};
