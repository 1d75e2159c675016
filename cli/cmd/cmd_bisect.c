/* SPDX-License-Identifier: MIT */
/* cmd_bisect.c: fredctl bisect: runs a program until it fails, and reports why. The work is done in hunt/. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/home.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "client/out.h"
#include "client/progress.h"
#include "cmd/commands.h"
#include "hunt/collect.h"
#include "hunt/hunt.h"
#include "hunt/slurm.h"
#include "hunt/state.h"
#include "report/report.h"
#include "supervisor/check.h"
#include "supervisor/record.h"

#define RUNS 100u /* when no other limit is given */
#define KEEP 3u
#define MAX_DISK (10ull << 30)
#define SEEDS "parallel,serial,chaos"

static const struct cli_option options[] = {
	{"invariant", "EXPR", "true while all is well: a run fails if it is false when the run ends", .word = WORD_EXPR,
	 .repeated = true},
	{"watch-always", NULL, "a run also fails if an invariant was false at any time"},
	{"fail-if", "CMD", "a run also fails if this shell command, which reads its output, exits with 0"},
	{"timeout", "TIME", "a run that takes longer fails: 90, 90s, 15m, none (20 times the longest that passed)"},
	{"runs", "N", "stop after N runs (100, unless --until-failure or --budget is given)"},
	{"until-failure", NULL, "stop after the first failure, once its cause has been looked for"},
	{"budget", "TIME", "stop after this time with exit code 75; --resume continues"},
	{"jobs", "N", "make N runs and searches at a time (the number of processors)", .letter = 'j'},
	{"sched", "LIST", "schedules to try, separated by commas: parallel, serial, chaos, chaos:SEED (all of them)"},
	{"isolate", NULL, "run in a new, empty working directory each time"},
	{"state", "DIR", "keep runs and results in DIR (a new folder in $FRED_HOME/hunts)", .word = WORD_DIR},
	{"resume", NULL, "continue the hunt in --state, or the latest one"},
	{"keep", "N", "keep N recordings of failures with the same cause (3)"},
	{"max-disk", "SIZE", "the space for all recordings: 500M, 10G (10G)"},
	{"record-only", NULL, "do not look for causes, on a host that cannot replay; --resume does it elsewhere"},
	{"report", "KIND=FILE", "write a report: text, json, junit, sarif, markdown, github, html", .word = WORD_FILE,
	 .repeated = true},
	{"git", NULL, "use git bisect run's exit codes: 0 no run failed, 1 a run failed, 125 unknown"},
	{"shard", "I/N", "make the I-th of N parts of the runs, counted from 1"},
	{"slurm", "OPTIONS", "submit a Slurm job array, with these options of sbatch", .repeated = true,
	 .joined = true},
	{"collect", "DIR", "make no runs, but one report of all hunts in DIR", .word = WORD_DIR, .repeated = true},
	{0},
};

/* ---- the hunt's hooks ---- */

struct recording {
	const struct hunt_recording *what;
	struct hunt_outcome *outcome;
	double began_s;
};

static bool ended(void *arg, int status)
{
	struct recording *r = arg;
	bool wanted;

	r->outcome->seconds = clock_s() - r->began_s;
	wanted = r->what->ended(r->what->arg, &status);
	r->outcome->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	r->outcome->code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	r->outcome->ended = true;
	return wanted;
}

static void keep_notes(struct hunt_outcome *o, const json_t *meta)
{
	size_t at = 0, i;
	json_t *note;

	json_array_foreach(json_object_get(meta, "notes"), i, note)
	{
		size_t n = json_string_length(note);

		if (at + n + 2 > sizeof(o->notes))
			break;
		memcpy(o->notes + at, json_string_value(note), n);
		at += n;
		o->notes[at++] = '\n';
	}
	o->notes[at] = '\0';
}

static int record(const struct hunt_recording *what, struct hunt_outcome *outcome, struct err *e)
{
	struct recording r = {what, outcome, clock_s()};
	struct record_opts o = {.dir = what->dir,
				.argv = what->argv,
				.cwd = what->cwd,
				.sched = (enum rlog_sched)what->sched,
				.chaos_seed = what->seed,
				.ended = ended,
				.arg = &r};
	struct record_result result = {0};
	int ret = record_run(&o, &result, e);

	if (!ret && !result.unwanted) {
		keep_notes(outcome, result.meta);
		outcome->recorded = true;
	}
	record_result_fini(&result);
	return ret;
}

_Static_assert((int)HUNT_PARALLEL == (int)RLOG_SCHED_PARALLEL && (int)HUNT_SERIAL == (int)RLOG_SCHED_SERIAL &&
		       (int)HUNT_CHAOS == (int)RLOG_SCHED_CHAOS,
	       "the same schedules");

struct screen {
	const struct cli *cli;
	struct progress progress;
};

static void note(void *arg, const char *text)
{
	struct screen *s = arg;

	progress_clear(&s->progress);
	out_note(s->cli, "%s", text);
}

static void progress(void *arg, double fraction, const char *text)
{
	progress_draw(&((struct screen *)arg)->progress, fraction, text);
}

/* ---- the command line ---- */

static int get_number(const struct cli *cli, const char *option, uint64_t min, uint64_t max, uint64_t *out,
		      struct err *e)
{
	const char *v = cli_value(cli, option);

	if (v && str_u64(v, 10, min, max, out))
		return err_set(e, ERR_USAGE, "--%s: '%s' is not a number from %llu", option, v,
			       (unsigned long long)min);
	return 0;
}

static int get_duration(const struct cli *cli, const char *option, double *out, struct err *e)
{
	const char *v = cli_value(cli, option);

	return v && hunt_parse_duration(v, out, e) ? err_wrap(e, "--%s", option) : 0;
}

static int get_shard(const struct cli *cli, struct hunt_spec *s, struct err *e)
{
	const char *v = cli_value(cli, "shard");
	cleanup_free char *first = v ? xstrndup(v, strcspn(v, "/")) : NULL;
	uint64_t i;

	s->shards = 1;
	if (!v)
		return 0;
	if (!strchr(v, '/') || str_u64(strchr(v, '/') + 1, 10, 1, 100000, &s->shards) ||
	    str_u64(first, 10, 1, s->shards, &i))
		return err_set(e, ERR_USAGE, "--shard: '%s' is not I/N with I from 1 to N", v);
	s->shard = i - 1;
	return 0;
}

static int get_limits(const struct cli *cli, struct hunt_spec *s, struct err *e)
{
	uint64_t jobs = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN), keep = KEEP;
	const char *size = cli_value(cli, "max-disk");

	s->until_failure = cli_has(cli, "until-failure");
	s->record_only = cli_has(cli, "record-only");
	s->max_disk = MAX_DISK;
	if (get_number(cli, "runs", 1, UINT32_MAX, &s->runs, e) || get_number(cli, "jobs", 1, 4096, &jobs, e) ||
	    get_number(cli, "keep", 1, 100000, &keep, e) || get_duration(cli, "budget", &s->budget_s, e))
		return -1;
	if (size && hunt_parse_size(size, &s->max_disk, e))
		return err_wrap(e, "--max-disk");
	if (!s->runs && !s->until_failure && s->budget_s <= 0)
		s->runs = RUNS;
	s->jobs = (unsigned)jobs;
	s->keep = (unsigned)keep;
	return 0;
}

/* hunt.json cannot store arguments that are not UTF-8, and --resume would run something else. */
static int check_text(const char *what, const char *text, struct err *e)
{
	json_auto_t *v = text ? json_string(text) : NULL;

	return text && !v ? err_set(e, ERR_USAGE, "%s is not UTF-8, which bisect needs", what) : 0;
}

static int check_texts(const struct hunt_spec *s, struct err *e)
{
	for (size_t i = 0; i < s->argv.n; i++) {
		cleanup_free char *what = i ? str_fmt("argument %zu of the program", i) : xstrdup("the program's name");

		if (check_text(what, s->argv.s[i], e))
			return -1;
	}
	for (size_t i = 0; i < s->invariants.n; i++)
		if (check_text("an --invariant", s->invariants.s[i], e))
			return -1;
	return check_text("--fail-if", s->fail_if, e) || check_text("the path of the working directory", s->cwd, e) ? -1
														    : 0;
}

/* Finds the program as `record` does for each run, and reports the same errors; its path is absolute for --isolate. */
static int get_program(const struct cli *cli, struct hunt_spec *s, struct err *e)
{
	cleanup_free char *program = NULL;

	s->cwd = getcwd(NULL, 0);
	if (!s->cwd)
		return err_errno(e, ERR_HOST, "the working directory");
	for (size_t i = 0; i < cli->args.n; i++)
		strv_add(&s->argv, cli->args.s[i]);
	if (!s->argv.n)
		return 0;
	program = check_find_program(s->argv.s[0], e);
	if (!program || check_recordable(program, e))
		return -1;
	if (s->isolate && strchr(s->argv.s[0], '/')) {
		char *absolute = path_absolute(s->argv.s[0]);

		if (!absolute)
			return err_errno(e, ERR_HOST, "%s", s->argv.s[0]);
		free(s->argv.s[0]);
		s->argv.s[0] = absolute;
	}
	return 0;
}

static int get_spec(const struct cli *cli, struct hunt_spec *s, struct err *e)
{
	const char *timeout = cli_value(cli, "timeout"), *fail_if = cli_value(cli, "fail-if"),
		   *sched = cli_value(cli, "sched");
	const struct strv *invariants = cli_values(cli, "invariant");
	uint32_t seed = 0;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return err_errno(e, ERR_HOST, "getrandom");
	s->seed = seed >> 1; /* so that the seeds of all runs can be typed */
	s->isolate = cli_has(cli, "isolate");
	s->watch_always = cli_has(cli, "watch-always");
	s->fail_if = fail_if ? xstrdup(fail_if) : NULL;
	for (size_t i = 0; i < invariants->n; i++)
		strv_add(&s->invariants, invariants->s[i]);
	if (s->watch_always && !s->invariants.n)
		return err_set(e, ERR_USAGE, "--watch-always needs an --invariant");
	if (str_eq(timeout, "none"))
		s->timeout_s = HUNT_TIMEOUT_NONE;
	else if (timeout && hunt_parse_duration(timeout, &s->timeout_s, e))
		return err_wrap(e, "--timeout");
	if (hunt_parse_scheds(sched ? sched : SEEDS, &s->scheds, &s->seed, e) || get_shard(cli, s, e))
		return -1;
	return get_limits(cli, s, e) || get_program(cli, s, e) || check_texts(s, e) ? -1 : 0;
}

/* ---- where its state is ---- */

/* The commit that git has checked out, since each commit has a state of its own. NULL: this is no git repository. */
static char *git_head(void)
{
	FILE *f = popen("git rev-parse HEAD 2>/dev/null", "re");
	char line[128] = "";
	bool got = f && fgets(line, sizeof(line), f);

	if (f)
		got &= !pclose(f);
	line[strcspn(line, "\n")] = '\0';
	return got && *line ? xstrdup(line) : NULL;
}

/* Several shards share a folder: each has its own hunt below it. dir: malloc'd, and taken. */
static char *shard_dir(char *dir, const struct hunt_spec *s)
{
	cleanup_free char *whole = dir;

	if (s->shards == 1 || state_exists(dir))
		return steal_ptr(&whole);
	return str_fmt("%s/shard-%llu-of-%llu", dir, (unsigned long long)s->shard + 1, (unsigned long long)s->shards);
}

static char *state_dir(const struct cli *cli, const struct hunt_spec *s, struct err *e)
{
	const char *given = cli_value(cli, "state");
	cleanup_free char *head = given && cli_has(cli, "git") ? git_head() : NULL;

	if (given)
		return shard_dir(head ? str_fmt("%s/%s", given, head) : xstrdup(given), s);
	return cli_has(cli, "resume") ? collect_latest(e) : collect_new(path_base(s->argv.s[0]), e);
}

/*
 * Reads the settings of an existing hunt. If this command line has settings that must not change, they must be the
 * same.
 */
static int resume(const struct cli *cli, const char *dir, struct hunt_spec *s, struct err *e)
{
	static const char *const fixed[] = {"invariant", "watch-always", "fail-if", "sched", "isolate", "shard"};
	json_auto_t *kept = NULL, *asked = hunt_spec_json(s);
	struct hunt_state state;
	int r = state_open(&state, dir, &kept, e);

	state_fini(&state);
	if (r)
		return -1;
	for (unsigned i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (cli_has(cli, fixed[i]) && !str_eq(fixed[i], "sched") && !collect_same(kept, asked, fixed[i]))
			return err_set(e, ERR_USAGE, "%s: the hunt has a different --%s", dir, fixed[i]);
	if (cli->args.n && !json_equal(json_object_get(kept, "argv"), json_object_get(asked, "argv")))
		return err_set(e, ERR_USAGE, "%s is the hunt of another program; choose another --state", dir);
	if (cli_has(cli, "timeout"))
		json_object_set(kept, "timeout_s", json_object_get(asked, "timeout_s"));
	if (cli_has(cli, "budget"))
		json_object_set(kept, "budget_s", json_object_get(asked, "budget_s"));
	if (cli_has(cli, "runs") || cli_has(cli, "until-failure")) {
		json_object_set(kept, "runs", json_object_get(asked, "runs"));
		json_object_set(kept, "until_failure", json_object_get(asked, "until_failure"));
	}
	if (hunt_spec_from_json(s, kept, e))
		return err_wrap(e, "%s/hunt.json", dir);
	if (!s->runs && !s->until_failure && s->budget_s <= 0)
		return err_set(e, ERR_USAGE,
			       "%s: nothing says when the hunt ends: --runs, --until-failure or --budget is needed",
			       dir);
	return 0;
}

/* Makes the state, or opens an existing one to continue it. */
static int open_state(const struct cli *cli, const char *dir, struct hunt_spec *s, struct err *e)
{
	json_auto_t *spec = NULL;
	struct hunt_state state;
	int r;

	if (cli_has(cli, "resume") || (state_exists(dir) && cli_has(cli, "git")))
		return resume(cli, dir, s, e);
	if (state_exists(dir) && s->shards == 1 && !getenv("SLURM_JOB_ID"))
		return err_set(e, ERR_USAGE, "%s: there is a hunt already: --resume continues it", dir);
	spec = hunt_spec_json(s);
	r = state_create(&state, dir, spec, e);
	state_fini(&state);
	return r ? -1 : resume(cli, dir, s, e); /* another task may have been faster, with another seed */
}

/* ---- the result ---- */

/* The exit code for git bisect run. only_budget: the time budget was the only limit. */
static int git_code(const json_t *report, bool only_budget)
{
	const json_t *runs = json_object_get(report, "runs");
	int code = hunt_exit_code(report);

	if (code == err_exit_code(ERR_CANCELLED))
		return code;
	if (json_integer_value(json_object_get(runs, "failed")))
		return 1;
	if (!json_integer_value(json_object_get(runs, "passed")))
		return 125;
	return code == 1 || (only_budget && code == err_exit_code(ERR_BUDGET)) ? 0 : 125;
}

static int show(struct cli *cli, const json_t *report, struct err *e)
{
	const struct strv *kinds = cli_values(cli, "report");
	bool shown = false; /* on standard output */

	for (size_t i = 0; i < kinds->n; i++) {
		shown |= str_ends(kinds->s[i], "=-");
		if (report_write(kinds->s[i], report, e))
			return -1;
	}
	if (shown)
		return 0;
	if (cli->json)
		return out_json(report, e);
	return report_write("text=-", report, e);
}

static int exit_code(const struct cli *cli, const json_t *report, const struct hunt_spec *s)
{
	return cli_has(cli, "git") ? git_code(report, !s->runs) : hunt_exit_code(report);
}

static int hunt(struct cli *cli, struct hunt_spec *s, struct err *e)
{
	cleanup_free char *dir = state_dir(cli, s, e);
	struct screen screen = {.cli = cli};
	const struct hunt_hooks hooks = {record, note, progress, &screen};
	json_auto_t *report = NULL;
	struct err why;
	int r;

	if (!dir || open_state(cli, dir, s, e))
		return -1;
	progress_init(&screen.progress, cli);
	if (cli->verbose || isatty(STDERR_FILENO))
		out_note(cli, "the hunt is in %s", dir);
	r = hunt_run(s, dir, &hooks, &report, e);
	progress_clear(&screen.progress);
	if (!report)
		return -1;
	if (show(cli, report, r ? &why : e))
		return -1;
	if (!r)
		return exit_code(cli, report, s);
	fprintf(stderr, "fred: %s\n", e->text); /* the JSON object on standard output has the error too */
	return cli_has(cli, "git") ? 125 : err_exit_code(e->kind);
}

static int exec_bisect(struct cli *cli, struct err *e)
{
	const struct strv *kinds = cli_values(cli, "report");
	struct hunt_spec s = {0};
	int r;

	if (report_check_all(kinds, cli->json, e))
		return -1;
	if (cli_has(cli, "collect")) {
		json_auto_t *report = collect(cli_values(cli, "collect"), e);

		return !report || show(cli, report, e) ? -1
		       : cli_has(cli, "git")	       ? git_code(report, false)
						       : hunt_exit_code(report);
	}
	if (!cli->args.n && !cli_has(cli, "resume"))
		return err_set(e, ERR_USAGE,
			       "bisect: which program? usage: fredctl bisect [OPTION...] -- PROGRAM [ARG...]");
	if (cli_has(cli, "slurm") && cli_has(cli, "git"))
		return err_set(e, ERR_USAGE,
			       "--git with --slurm: whether a run failed is known only when the jobs have ended; use "
			       "`sbatch --wait' with a script, and then `fredctl bisect --collect DIR --git'");
	r = get_spec(cli, &s, e);
	if (!r)
		r = cli_has(cli, "slurm") ? slurm_submit(cli_values(cli, "slurm"), cli_value(cli, "state"), e)
					  : hunt(cli, &s, e);
	hunt_spec_fini(&s);
	return r;
}

const struct cli_command cmd_bisect = {
	.name = "bisect",
	.help = "run a program until it fails, find the causes, and report",
	.usage = "[--invariant EXPR]... [--watch-always] [--fail-if CMD] [--timeout TIME] [--runs N] [--until-failure] "
		 "[--budget TIME] "
		 "[--jobs N] [--sched LIST] [--isolate] [--state DIR] [--keep N] [--max-disk SIZE] [--record-only] "
		 "[--report KIND=FILE]... [--git] [--shard I/N] [--slurm[=OPTIONS]] -- PROGRAM [ARG...] | --resume "
		 "[--state DIR] | "
		 "--collect DIR",
	.options = options,
	.exec = exec_bisect,
	.max_args = ~0u,
	.word = WORD_PROGRAM,
	.program = true,
};
