/* SPDX-License-Identifier: MIT */
/* cmd_record.c: fredctl record. The only command whose exit code is the program's. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "client/client.h"
#include "client/out.h"
#include "cmd/commands.h"
#include "supervisor/record.h"

static const struct cli_option options[] = {
	{"output", "DIR", "put the recording into DIR (default: a new one under $FRED_HOME)", .word = WORD_DIR,
	 .letter = 'o'},
	{"sched", "MODE",
	 "parallel (default); serial: one thread at a time, exact for programs with "
	 "races; chaos[:SEED]: serial, in orders that are otherwise rare",
	 "parallel serial chaos chaos:"},
	{"malloc", "WHICH", "fred: deterministic heap (default); system: glibc's, and one thread at a time",
	 "fred system"},
	{"detect", NULL,
	 "detect heap damage: check canaries after each block, and keep freed blocks unused for a while. Damage is "
	 "reported at the end; `fredctl explain` finds the statement"},
	{"max-log", "SIZE", "keep only the newest SIZE of logs (bytes, or 64K, 8M, 1G)"},
	{0},
};

static bool was_ended_by_others(const struct record_result *r)
{
	switch (r->exit_code - 128) {
	case SIGHUP:
	case SIGINT:
	case SIGKILL:
	case SIGTERM:
		return true;
	}
	return false;
}

/*
 * Does the replay of a failing chaos recording fail, too? Only then can the failure be examined. New reference: true
 * or false; NULL: the run did not fail, or this is not known.
 */
static json_t *verify(const struct cli *cli, const struct record_opts *o, const struct record_result *r)
{
	json_auto_t *replay = NULL;
	struct cli loud = *cli;
	struct err e;

	if (o->sched != RLOG_SCHED_CHAOS || !r->exit_code || was_ended_by_others(r) ||
	    !json_is_true(json_object_get(r->meta, "complete")))
		return NULL;
	if (!client_run(cli, "replay", json_pack("{s:o, s:b}", "rec", json_text(r->dir, strlen(r->dir)), "verify", 1),
			&replay, &e)) {
		out_note(cli,
			 "found: it failed (exit code %d), and its %lld events were replayed as recorded (--sched "
			 "chaos:%lld)",
			 r->exit_code, (long long)out_int(replay, "events"), (long long)out_int(r->meta, "chaos_seed"));
		return json_true();
	}
	if (e.kind != ERR_NOT_FOUND) {
		out_note(cli, "it failed (exit code %d); whether its replay fails is not known: %s", r->exit_code,
			 e.text);
		return NULL;
	}
	loud.quiet = false;
	out_note(&loud,
		 "it failed (exit code %d), but its replay does not fail in the same way, so the failure is not found: "
		 "try other seeds. %s",
		 r->exit_code, e.text);
	return json_false();
}

static void print_notes(const struct cli *cli, const struct record_result *r)
{
	json_t *note;
	size_t i;

	json_array_foreach(json_object_get(r->meta, "notes"), i, note) out_note(cli, "%s", json_string_value(note));
	if (json_array_size(json_object_get(r->meta, "damage")))
		out_note(cli, "--detect found damage in the heap: `fredctl explain %s` finds the statements", r->dir);
	if (json_object_get(r->meta, "still_running"))
		out_note(cli, "%lld recorded processes still run; the recording is finished when they end",
			 (long long)out_int(r->meta, "still_running"));
	if (cli->verbose || isatty(STDERR_FILENO))
		out_note(cli, "recorded %s", r->dir);
}

static int report(struct cli *cli, const struct record_opts *o, const struct record_result *r, struct err *e)
{
	json_auto_t *v = NULL, *verified = NULL;

	print_notes(cli, r);
	verified = verify(cli, o, r);
	if (!cli->json)
		return 0;
	v = json_pack("{s:o, s:o, s:O, s:O, s:O, s:O, s:i}", "name",
		      json_text(path_base(r->dir), strlen(path_base(r->dir))), "recording",
		      json_text(r->dir, strlen(r->dir)), "exit", json_object_get(r->meta, "exit"), "complete",
		      json_object_get(r->meta, "complete"), "wall_s", json_object_get(r->meta, "wall_s"), "notes",
		      json_object_get(r->meta, "notes"), "exit_code", r->exit_code);
	if (json_object_get(r->meta, "damage"))
		json_object_set(v, "damage", json_object_get(r->meta, "damage"));
	if (verified)
		json_object_set(v, "verified", verified);
	return out_json(v, e);
}

static int exec_record(struct cli *cli, struct err *e)
{
	struct record_opts o = {.dir = cli_value(cli, "output"), .argv = cli->args.s};
	struct record_result r;
	int ret;

	if (record_set_sched(&o, cli_value(cli, "sched"), e) || record_set_max_log(&o, cli_value(cli, "max-log"), e))
		return -1;
	if (str_eq(cli_value(cli, "malloc"), "system"))
		o.malloc_mode = RLOG_MALLOC_SYSTEM;
	if (cli_has(cli, "detect") && o.malloc_mode == RLOG_MALLOC_SYSTEM)
		return err_set(e, ERR_USAGE, "--detect needs fred's heap: it cannot check the heap of --malloc system");
	if (cli_has(cli, "detect"))
		o.malloc_mode = RLOG_MALLOC_DETECT;
	ret = record_run(&o, &r, e);
	if (!ret)
		ret = report(cli, &o, &r, e) ? -1 : r.exit_code;
	record_result_fini(&r);
	return ret;
}

const struct cli_command cmd_record = {
	.name = "record",
	.help = "run a program and record it",
	.usage = "[-o DIR] [--sched parallel|serial|chaos[:SEED]] [--malloc fred|system] [--detect] [--max-log SIZE] "
		 "-- PROGRAM "
		 "[ARG...]",
	.options = options,
	.exec = exec_record,
	.min_args = 1,
	.max_args = ~0u,
	.word = WORD_PROGRAM,
	.program = true,
};
