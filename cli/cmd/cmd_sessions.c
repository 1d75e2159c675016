/* SPDX-License-Identifier: MIT */
/*
 * cmd_sessions.c: debugging sessions from outside: fredctl sessions, the list; repl, a prompt (a program of its own,
 * cli/repl); checkpoint, checkpoints and restart.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "bridge/session.h"
#include "client/out.h"
#include "client/paths.h"
#include "cmd/commands.h"
#include "frontend/attach.h"
#include "frontend/checkpoints.h"

static const struct cli_option sessions_options[] = {
	{"rm", "ID", "remove this session, which must not be running", .repeated = true},
	{0},
};

static void print_session(const struct session_info *s)
{
	const json_t *at = s->program;
	struct tm tm;
	char when[32];

	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", gmtime_r(&s->used, &tm));
	printf("%-4s %-8s %s  event %lld of %lld%s%s  %s", s->id, s->pid ? "running" : "saved", when,
	       (long long)out_int(at, "event"), (long long)out_int(at, "events_total"),
	       json_object_get(at, "pc") ? ", " : "", out_str(at, "pc", ""),
	       *s->recording ? path_base(s->recording) : "?");
	if (s->checkpoints)
		printf(", %zu checkpoints", s->checkpoints);
	if (s->bookmarks)
		printf(", %zu bookmarks", s->bookmarks);
	putchar('\n');
}

static int print_json(const struct session_infos *all, struct err *e)
{
	json_t *list = json_array();
	json_auto_t *v = json_pack("{s:o}", "sessions", list);

	for (size_t i = 0; i < all->n; i++)
		json_array_append_new(list, session_info_json(&all->v[i]));
	return out_json(v, e);
}

static int exec_sessions(struct cli *cli, struct err *e)
{
	const struct strv *gone = cli_values(cli, "rm");
	struct session_infos all;
	int r = 0;

	for (size_t i = 0; i < gone->n; i++)
		if (session_remove(gone->s[i], e))
			return -1;
	if (session_list(&all, e))
		return -1;
	if (cli->json)
		r = print_json(&all, e);
	for (size_t i = 0; i < all.n && !cli->json; i++)
		print_session(&all.v[i]);
	session_infos_fini(&all);
	return r;
}

const struct cli_command cmd_sessions = {
	.name = "sessions",
	.help = "list the debugging sessions",
	.usage = "[--rm ID]...",
	.options = sessions_options,
	.exec = exec_sessions,
};

/* ---- repl ---- */

static const struct cli_option repl_options[] = {
	{"new", "REC", "start a new session of this recording", .word = WORD_REC},
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
		return err_set(e, ERR_USAGE, "repl: give a session or --new REC, not both");
	if (!attach_open(&a, cli->args.n ? cli->args.s[0] : NULL, rec, e))
		r = attach_repl(&a, none, e);
	attach_close(&a);
	return r;
}

const struct cli_command cmd_repl = {
	.name = "repl",
	.help = "open a prompt on a debugging session, even one that runs elsewhere",
	.usage = "[ID | --new REC]",
	.options = repl_options,
	.exec = exec_repl,
	.max_args = 1,
};

/* ---- checkpoints ---- */

static const struct cli_option checkpoint_options[] = {
	{"session", "ID", "the session (the one that is running, else the one that ran last)"},
	{0},
};

static void print_checkpoint(const json_t *v)
{
	printf("%-4lld %s\n", (long long)out_int(v, "checkpoint"), out_str(v, "position", "?"));
}

static int exec_checkpoints(struct cli *cli, struct err *e)
{
	json_auto_t *v = checkpoints_list(cli_value(cli, "session"), e);
	json_t *one;
	size_t i;

	if (!v)
		return -1;
	if (cli->json)
		return out_json(v, e);
	json_array_foreach(json_object_get(v, "checkpoints"), i, one) print_checkpoint(one);
	return 0;
}

/* Takes the checkpoint; code: the exit code of the command if there is no checkpoint. */
static int show_checkpoint(const struct cli *cli, json_t *checkpoint, int code, struct err *e)
{
	json_auto_t *v = checkpoint;

	if (!v)
		return code;
	if (cli->json)
		return out_json(v, e);
	print_checkpoint(v);
	return 0;
}

static int exec_checkpoint(struct cli *cli, struct err *e)
{
	int code;
	json_t *v = checkpoints_make(cli_value(cli, "session"), &code, e);

	return show_checkpoint(cli, v, code, e);
}

static int exec_restart(struct cli *cli, struct err *e)
{
	const char *name = cli->args.s[0];
	json_t *v;
	uint64_t n;
	int code;

	if (str_u64(name, 10, 1, 1u << 30, &n))
		return err_set(e, ERR_USAGE, "restart N: '%s' is not the number of a checkpoint", name);
	v = checkpoints_restart(cli_value(cli, "session"), name, &code, e);
	return show_checkpoint(cli, v, code, e);
}

const struct cli_command cmd_checkpoint = {
	.name = "checkpoint",
	.help = "make a checkpoint of a debugging session at its current position",
	.usage = "[--session ID]",
	.options = checkpoint_options,
	.exec = exec_checkpoint,
};

const struct cli_command cmd_checkpoints = {
	.name = "checkpoints",
	.help = "list the checkpoints of a debugging session",
	.usage = "[--session ID]",
	.options = checkpoint_options,
	.exec = exec_checkpoints,
};

const struct cli_command cmd_restart = {
	.name = "restart",
	.help = "take a debugging session back to a checkpoint",
	.usage = "N [--session ID]",
	.options = checkpoint_options,
	.exec = exec_restart,
	.min_args = 1,
	.max_args = 1,
};
