/* SPDX-License-Identifier: MIT */
/*
 * record.c: see record.h. All checks are made before the program runs; after that, the caller gets the program's
 * exit code.
 */
#include "supervisor/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "client/paths.h"
#include "launch/launch.h"
#include "launch/sanitizers.h"
#include "recfiles/compress.h"
#include "recfiles/running.h"
#include "recfiles/shared_files.h"
#include "supervisor/check.h"
#include "supervisor/complete.h"
#include "supervisor/control.h"
#include "supervisor/deadlock.h"
#include "supervisor/keeper.h"
#include "supervisor/log_limit.h"
#include "supervisor/meta.h"
#include "supervisor/tsc.h"
#include "supervisor/wait.h"

#define MIN_FREE_BYTES (16ull << 20)
#define ADDRESS_SPACE (256ull << 20)
/* at the end, compressing the rest of the logs may take at most this part of the run's time */
#define COMPRESS_PART 0.005
#define MAX_DIR 240 /* the recorder, which cannot allocate, keeps the path in a buffer of 256 bytes */

extern char **environ;

int record_set_sched(struct record_opts *o, const char *sched, struct err *e)
{
	if (!sched || str_eq(sched, "parallel"))
		return 0;
	if (str_eq(sched, "serial")) {
		o->sched = RLOG_SCHED_SERIAL;
		return 0;
	}
	o->sched = RLOG_SCHED_CHAOS;
	if (sched[5] == ':')
		return str_u64(sched + 6, 10, 0, INT64_MAX, &o->chaos_seed)
			       ? err_set(e, ERR_USAGE, "--sched: '%s' is no seed", sched + 6)
			       : 0;
	if (getrandom(&o->chaos_seed, 4, 0) != 4)
		return err_errno(e, ERR_HOST, "getrandom");
	return 0;
}

int record_set_max_log(struct record_opts *o, const char *text, struct err *e)
{
	static const char units[] = "KMG";
	cleanup_free char *number = xstrdup(text ? text : "0");
	size_t n = strlen(number);
	const char *unit = n ? strchr(units, number[n - 1]) : NULL;
	unsigned shift = 0;

	if (!text)
		return 0;
	if (unit && *unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		number[n - 1] = '\0';
	}
	if (str_u64(number, 10, 1, INT64_MAX >> 30, &o->max_log) || (o->max_log <<= shift) < LOG_LIMIT_MIN)
		return err_set(e, ERR_USAGE, "--max-log: '%s' is not a size of 1M or more", text);
	return 0;
}

static int check_space(const char *dir, struct err *e)
{
	struct statvfs st;

	if (statvfs(dir, &st))
		return err_errno(e, ERR_HOST, "%s", dir);
	if ((unsigned long long)st.f_bavail * st.f_frsize < MIN_FREE_BYTES)
		return err_set(e, ERR_HOST, "%s: the disk is full: under %llu MB are free", dir, MIN_FREE_BYTES >> 20);
	return 0;
}

/* The recorder needs some 100 MB of addresses in each process, and 2 MB more for each thread. */
static int check_address_space(struct err *e)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_AS, &l) || l.rlim_cur >= ADDRESS_SPACE)
		return 0;
	return err_set(e, ERR_HOST,
		       "the limit of address space is too low (ulimit -v %llu): the recorder needs some of it itself; "
		       "make it %llu or more, or lift it",
		       (unsigned long long)l.rlim_cur / 1024, ADDRESS_SPACE / 1024);
}

/* The environment of this process, with the recorder added in front of the user's own preloads. */
static void make_env(struct strv *env, const char *dir, const char *shim)
{
	const char *preload = getenv("LD_PRELOAD"), *leaks = getenv("LSAN_OPTIONS");

	strv_addf(env, LAUNCH_LSAN "%s%s" LAUNCH_NO_LEAKS, leaks ? leaks : "", leaks && *leaks ? ":" : "");
	for (char **v = environ; *v; v++)
		if (!str_starts(*v, "FRED=") && !str_starts(*v, "LD_PRELOAD=") && !str_starts(*v, LAUNCH_EVEN))
			strv_add(env, *v);
	if (!preload || !*preload)
		strv_add(env, LAUNCH_EVEN);
	strv_addf(env, "LD_PRELOAD=%s%s%s", shim, preload && *preload ? ":" : "", preload ? preload : "");
	/*
	 * padded so that it is at least as long as a replay's /run/fred/rec, since the strings' lengths determine where
	 * the stack is
	 */
	strv_addf(env, "FRED=r:0000:%s%.*s", dir, strlen(dir) < 24 ? (int)(24 - strlen(dir)) : 0,
		  "////////////////////////");
}

static int launch(struct record_session *s, const char *program, const char *shim, struct err *e)
{
	cleanup_strv struct strv env = {0};
	cleanup_free char *absolute = s->opts.cwd ? realpath(program, NULL) : NULL;
	struct launch_spec spec = {.path = absolute ? absolute : program,
				   .argv = s->opts.argv,
				   .cwd = s->opts.cwd,
				   .hold = s->opts.hold,
				   .fds = s->opts.fds,
				   .nfds = s->opts.nfds,
				   .own_group = s->opts.hold};
	struct err ignored;

	make_env(&env, s->result.dir, shim);
	spec.envp = env.s;
	/* orphans of the program become children of this process: their PIDs are not reused before it reaps them */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		return err_errno(e, ERR_HOST, "PR_SET_CHILD_SUBREAPER");
	/* without a keeper, a process that drops its privileges only notes that its log ends */
	s->keeper = keeper_new(s->result.dir, s->control, &ignored);
	if (s->keeper)
		keeper_serve(s->keeper, &ignored);
	wait_prepare();
	s->begin = tsc_moment();
	s->start_s = clock_s();
	return launch_program(&spec, &s->pid, e);
}

static int finish(struct record_session *s, int status, struct err *e)
{
	struct record_result *r = &s->result;
	struct rlog_control *c = s->control;
	int signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	double wall_s = clock_s() - s->start_s;
	unsigned running = 0;

	if (!signo)
		control_forget_deadlocks(c);
	r->exit_code = signo ? 128 + signo : WEXITSTATUS(status);
	json_object_set_new(r->meta, "ended", meta_now());
	json_object_set_new(r->meta, "exit",
			    signo ? json_pack("{s:i}", "signal", signo) : json_pack("{s:i}", "code", r->exit_code));
	json_object_set_new(r->meta, "wall_s", json_real(wall_s));
	meta_set_notes(r->meta, c);
	if (running_trim_logs(r->dir, &running, e))
		return -1;
	if (!running)
		return complete_recording(r->dir, r->meta, c, wall_s * COMPRESS_PART, e);
	json_object_set_new(r->meta, "still_running", json_integer(running));
	if (meta_write(r->dir, r->meta, e))
		return -1;
	complete_in_background(r->dir, r->meta, c, s->keeper);
	return 0;
}

/* Copies the recorder into the recording: a later version must not be used for its replay. */
static int keep_shim(const char *dir, const char *shim, struct err *e)
{
	cleanup_free char *files = path_join(dir, "files");
	cleanup_free char *copy = path_join(files, RLOG_SHIM_NAME);

	if (mkdir_p(files, 0700, e) || copy_file(shim, copy, e))
		return -1;
	if (chmod(copy, 0555))
		return err_errno(e, ERR_HOST, "%s", copy);
	shared_files_link_one(copy);
	shared_files_begin(dir);
	return 0;
}

static int check_dir(const char *dir, struct err *e)
{
	if (strlen(dir) > MAX_DIR)
		return err_set(e, ERR_HOST,
			       "the recording's path is too long (%zu bytes, at most %d): choose a shorter "
			       "one with -o or FRED_HOME",
			       strlen(dir), MAX_DIR);
	return check_space(dir, e);
}

/*
 * Prepares everything that must exist before the program runs. If the frequency of the TSC is not known, it is measured
 * meanwhile.
 */
static int prepare(const struct record_opts *o, const char *program, const char *shim, struct rlog_control *c,
		   struct record_result *r, struct err *e)
{
	struct tsc_moment begin = tsc_moment();

	if (keep_shim(r->dir, shim, e))
		return -1;
	if (!c->clock && !c->tsc_hz)
		c->tsc_hz = tsc_hz_since(&begin);
	r->meta = meta_new(o, program, c);
	if (!meta_write(r->dir, r->meta, e))
		return 0;
	json_object_clear(r->meta);
	return -1;
}

static int start_in(struct record_session *s, const char *program, const char *shim, struct err *e)
{
	const struct record_opts *o = &s->opts;

	if (check_dir(s->result.dir, e) || check_address_space(e))
		return -1;
	s->control = control_create(s->result.dir, o->sched, o->chaos_seed, o->malloc_mode, e);
	if (!s->control || (o->max_log && log_limit_prepare(s->control, o->max_log, e)) ||
	    prepare(o, program, shim, s->control, &s->result, e))
		return -1;
	if (!launch(s, program, shim, e))
		return 0;
	json_object_clear(s->result.meta); /* the program has not run */
	return -1;
}

int record_start(struct record_session *s, const struct record_opts *o, struct err *e)
{
	cleanup_free char *program = check_find_program(o->argv[0], e);
	cleanup_free char *shim = NULL;
	bool existed = o->dir && path_exists(o->dir);
	struct err ignored;

	*s = (struct record_session){.opts = *o};
	if (!program || check_recordable(program, e) || !(shim = paths_own(PATHS_RECORDER, e)))
		return -1;
	if (strpbrk(shim, ": "))
		return err_set(e, ERR_HOST, "%s: LD_PRELOAD cannot name a path with ':' or ' ' in it", shim);
	s->result.dir = paths_new_recording(o->dir, program, e);
	if (!s->result.dir)
		return -1;
	if (!start_in(s, program, shim, e))
		return 0;
	if (!json_object_size(s->result.meta) && !existed) /* nothing was recorded: leave nothing */
		rm_rf(s->result.dir, &ignored);
	return -1;
}

int record_end(struct record_session *s, int status, struct err *e)
{
	if (!s->control->clock && !tsc_known_hz()) {
		s->control->tsc_hz = tsc_hz_since(&s->begin);
		json_object_set_new(s->result.meta, "tsc_hz", json_integer((json_int_t)s->control->tsc_hz));
	}
	if (finish(s, status, e))
		return err_wrap(e, "%s: the recording could not be finished", s->result.dir);
	return 0;
}

struct run {
	struct record_session *session;
	struct deadlock deadlock;
};

static void while_it_runs(void *run)
{
	meta_sync(((const struct run *)run)->session->result.dir);
}

static bool when_told(void *run)
{
	return deadlock_look(&((struct run *)run)->deadlock);
}

int record_wait(struct record_session *s, int *status, struct err *e)
{
	struct run run = {.session = s};
	const struct wait_calls calls = {.later = while_it_runs, .told = when_told, .arg = &run};
	struct compressor *compressor;
	struct log_limit *limit;
	int r;

	wait_started();
	run.deadlock = (struct deadlock){.control = s->control, .pid = s->pid};
	s->control->client = (uint64_t)getpid();
	limit = log_limit_start(s->result.dir, s->control);
	/* the logs of a bounded recording are small, and are trimmed instead */
	compressor = limit ? NULL : compressor_start(s->result.dir);
	r = wait_for_program(s->pid, status, &calls, e);
	compressor_stop(compressor);
	log_limit_stop(limit);
	deadlock_fini(&run.deadlock);
	return r;
}

static int run_to_end(struct record_session *s, const struct record_opts *o, struct err *e)
{
	int status = 0, r;

	if (record_start(s, o, e))
		return -1;
	r = record_wait(s, &status, e);
	s->result.unwanted = !r && o->ended && !o->ended(o->arg, status);
	if (s->result.unwanted)
		return 0;
	return r || record_end(s, status, e) ? -1 : 0;
}

int record_run(const struct record_opts *o, struct record_result *r, struct err *e)
{
	struct record_session s;
	int ret = run_to_end(&s, o, e);

	*r = s.result;
	s.result = (struct record_result){0};
	record_session_fini(&s);
	return ret;
}

void record_session_fini(struct record_session *s)
{
	control_unmap(s->control);
	record_result_fini(&s->result);
	*s = (struct record_session){0};
}

void record_result_fini(struct record_result *r)
{
	free(r->dir);
	json_decref(r->meta);
	*r = (struct record_result){0};
}
