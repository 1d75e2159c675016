/* SPDX-License-Identifier: MIT */
/*
 * record.c: see record.h. Everything that can be wrong is found out before the program runs; after it
 * ran, its exit code is what the caller gets.
 */
#include "supervisor/record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "recfiles/running.h"
#include "supervisor/background.h"
#include "supervisor/log_limit.h"
#include "supervisor/check.h"
#include "supervisor/control.h"
#include "supervisor/deadlock.h"
#include "supervisor/keeper.h"
#include "client/paths.h"
#include "recfiles/shared_files.h"
#include "recfiles/sources.h"
#include "recfiles/compress.h"
#include "supervisor/tsc.h"
#include "supervisor/wait.h"
#include "launch/launch.h"
#include "reclog/rec.h"

#define MIN_FREE_BYTES (16ull << 20)
/* how long the end of a run may take to compress what there was no time for, as a part of the run */
#define SQUEEZE_PART 0.005
#define SOURCES_S 0.2 /* how long source files may be copied */
#define MAX_DIR 240 /* the recorder, which cannot allocate, keeps the path in a buffer of 256 bytes */

extern char **environ;

/* RFC 3339, UTC, with milliseconds. */
static json_t *now_text(void)
{
	struct timespec ts;
	struct tm tm;
	char date[32], text[48];

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%03ldZ", date, ts.tv_nsec / 1000000);
	return json_string(text);
}

static json_t *cpu_model(void)
{
	cleanup_buf struct buf b = {0};
	struct err ignored;
	const char *p;

	if (read_file("/proc/cpuinfo", &b, &ignored) || !(p = strstr(buf_str(&b), "model name")))
		return json_string("unknown");
	p += strcspn(p, ":\n");
	p += strspn(p, ": \t");
	return json_text(p, strcspn(p, "\n"));
}

static const char *sched_name(enum rlog_sched s)
{
	static const char *const names[] = {"parallel", "serial", "chaos"};

	return names[s];
}

static json_t *text(const char *s)
{
	return json_text(s, strlen(s));
}

/* Where it ran; a replay compares the features, and a reader of an unfinished recording the boot. */
static json_t *host(void)
{
	cleanup_strv struct strv features = {0};
	cleanup_buf struct buf boot = {0};
	struct utsname un;
	struct err ignored;
	json_t *list = json_array();

	uname(&un);
	cpu_features(&features);
	for (size_t i = 0; i < features.n; i++)
		json_array_append_new(list, text(features.s[i]));
	if (!read_file("/proc/sys/kernel/random/boot_id", &boot, &ignored))
		boot.len = strcspn(buf_str(&boot), "\n");
	return json_pack("{s:s, s:o, s:o, s:I, s:o}", "kernel", un.release, "cpu", cpu_model(), "cpu_features", list,
			 "xcr0", (json_int_t)cpu_xcr0(), "boot_id", json_text(buf_str(&boot), boot.len));
}

static json_t *make_meta(const struct record_opts *o, const char *program, const struct rlog_control *c)
{
	char cwd[PATH_MAX];
	bool known = o->cwd ? realpath(o->cwd, cwd) != NULL : getcwd(cwd, sizeof(cwd)) != NULL;
	json_t *argv = json_array();
	json_t *meta;

	for (char *const *a = o->argv; *a; a++)
		json_array_append_new(argv, text(*a));
	meta = json_pack("{s:i, s:s, s:o, s:o, s:o, s:s, s:s, s:o, s:s, s:I, s:o, s:b}", "format",
			 (int)RLOG_VERSION, "version", FRED_VERSION, "program", text(program),
			 "argv", argv, "cwd", text(known ? cwd : "/"), "sched",
			 sched_name(o->sched), "malloc",
			 o->malloc_mode == RLOG_MALLOC_SYSTEM ? "system" : "fred", "host", host(),
			 "clock", c->clock ? "counter" : "tsc",
			 "tsc_hz", (json_int_t)c->tsc_hz, "created", now_text(), "complete", 0);
	if (o->max_log)
		json_object_set_new(meta, "max_log", json_integer((json_int_t)o->max_log));
	if (o->sched == RLOG_SCHED_CHAOS)
		json_object_set_new(meta, "chaos_seed", json_integer((json_int_t)o->chaos_seed));
	return meta;
}

/*
 * Whoever opens it sees the old or the new one. On the disk it comes by itself, as the logs do: it must not
 * say there that the recording is complete before they are.
 */
static int write_meta(const char *dir, const json_t *meta, struct err *e)
{
	cleanup_free char *path = path_join(dir, "meta.json"), *temp = str_fmt("%s.new", path);
	cleanup_free char *data = json_dumps(meta, JSON_INDENT(2));

	if (!data || write_file(temp, data, strlen(data), 0600, e))
		return -1;
	return rename(temp, path) ? err_errno(e, ERR_HOST, "%s", path) : 0;
}

/* For a power cut during the run: nothing is to be done when it fails. */
static void sync_meta(const char *dir)
{
	cleanup_free char *path = path_join(dir, "meta.json");
	cleanup_close int file = open(path, O_RDONLY | O_CLOEXEC);
	cleanup_close int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (file >= 0 && folder >= 0 && !fsync(file) && fsync(folder))
		return;
}

static int check_space(const char *dir, struct err *e)
{
	struct statvfs st;

	if (statvfs(dir, &st))
		return err_errno(e, ERR_HOST, "%s", dir);
	if ((unsigned long long)st.f_bavail * st.f_frsize < MIN_FREE_BYTES)
		return err_set(e, ERR_HOST, "%s: the disk is full: under %llu MB are free", dir,
			       MIN_FREE_BYTES >> 20);
	return 0;
}

/* Our environment with the recorder in it, before the user's own preloads. */
static void make_env(struct strv *env, const char *dir, const char *shim)
{
	const char *preload = getenv("LD_PRELOAD");

	for (char **v = environ; *v; v++)
		if (!str_starts(*v, "FRED=") && !str_starts(*v, "LD_PRELOAD="))
			strv_add(env, *v);
	strv_addf(env, "LD_PRELOAD=%s%s%s", shim, preload && *preload ? ":" : "",
		  preload ? preload : "");
	/* at least as long as a replay's /run/fred/rec: the strings' lengths place the stack */
	strv_addf(env, "FRED=r:0000:%s%.*s", dir, strlen(dir) < 24 ? (int)(24 - strlen(dir)) : 0,
		  "////////////////////////");
}

static int launch(struct record_session *s, const char *program, const char *shim, struct err *e)
{
	cleanup_strv struct strv env = {0};
	cleanup_free char *absolute = s->opts.cwd ? realpath(program, NULL) : NULL;
	struct launch_spec spec = {.path = absolute ? absolute : program, .argv = s->opts.argv, .cwd = s->opts.cwd, .hold = s->opts.hold,
				   .fds = s->opts.fds, .nfds = s->opts.nfds,
				   .own_group = s->opts.hold};
	struct err ignored;

	make_env(&env, s->result.dir, shim);
	spec.envp = env.s;
	/* its orphans become ours, so that they are reaped and their PIDs mean what the logs say */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		return err_errno(e, ERR_HOST, "PR_SET_CHILD_SUBREAPER");
	/* without it, a process that gives up its rights says that its log ends */
	s->keeper = keeper_new(s->result.dir, s->control, &ignored);
	if (s->keeper)
		keeper_serve(s->keeper, &ignored);
	wait_prepare();
	s->begin = tsc_moment();
	s->start_s = clock_s();
	return launch_program(&spec, &s->pid, e);
}

static json_t *notes(const struct rlog_control *c)
{
	json_t *list = json_array();
	char *s;

	for (unsigned i = 0; (s = control_note(c, i)); i++) {
		if (*s)
			json_array_append_new(list, text(s));
		free(s);
	}
	if (c->note_count > RLOG_NOTES)
		json_array_append_new(list, json_sprintf("%u more notes were dropped",
							 c->note_count - RLOG_NOTES));
	return list;
}

/* squeeze_s: how long logs may be compressed */
static int complete(const struct record_result *r, const struct rlog_control *c, double squeeze_s, struct err *e)
{
	cleanup_free char *group = path_join(r->dir, "group");
	json_t *manifest, *sources;
	struct err why;

	unlink(group); /* the processes' own, see plugins/record/group.c */
	json_object_set_new(r->meta, "notes", notes(c));
	if (squeeze_rest(r->dir, squeeze_s, &why))
		json_array_append_new(json_object_get(r->meta, "notes"),
				      json_sprintf("logs are not compressed: %s", why.text));
	sources = sources_keep(r->dir, SOURCES_S);
	if (sources)
		json_object_set_new(r->meta, "sources", sources);
	manifest = rec_make_manifest(r->dir, e);
	if (!manifest)
		return -1;
	json_object_set_new(r->meta, "manifest", manifest);
	json_object_set_new(r->meta, "complete", json_true());
	json_object_del(r->meta, "still_running");
	rec_seal_meta(r->meta);
	if (write_meta(r->dir, r->meta, e))
		return -1;
	shared_files(r->dir, manifest);
	return 0;
}

int record_complete(const struct record_result *r, const struct rlog_control *c, struct err *e)
{
	unsigned running;

	return running_trim_logs(r->dir, &running, e) ? -1 : complete(r, c, INFINITY, e);
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
	json_object_set_new(r->meta, "ended", now_text());
	json_object_set_new(r->meta, "exit", signo ? json_pack("{s:i}", "signal", signo)
						   : json_pack("{s:i}", "code", r->exit_code));
	json_object_set_new(r->meta, "wall_s", json_real(wall_s));
	json_object_set_new(r->meta, "notes", notes(c));
	if (running_trim_logs(r->dir, &running, e))
		return -1;
	if (!running)
		return complete(r, c, wall_s * SQUEEZE_PART, e);
	json_object_set_new(r->meta, "still_running", json_integer(running));
	if (write_meta(r->dir, r->meta, e))
		return -1;
	background_finish(r, c, s->keeper);
	return 0;
}

/* The recorder goes into the recording: a later version of it must not replay this one. */
static int keep_shim(const char *dir, const char *shim, struct err *e)
{
	cleanup_free char *files = path_join(dir, "files");
	cleanup_free char *copy = path_join(files, RLOG_SHIM_NAME);

	if (mkdir_p(files, 0700, e) || copy_file(shim, copy, e))
		return -1;
	if (chmod(copy, 0555))
		return err_errno(e, ERR_HOST, "%s", copy);
	shared_file(copy);
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

/* All that must be there before the program runs. Without a known clock, the time it takes measures that. */
static int prepare(const struct record_opts *o, const char *program, const char *shim,
		   struct rlog_control *c, struct record_result *r, struct err *e)
{
	struct tsc_moment begin = tsc_moment();

	if (keep_shim(r->dir, shim, e))
		return -1;
	if (!c->clock && !c->tsc_hz)
		c->tsc_hz = tsc_hz_since(&begin);
	r->meta = make_meta(o, program, c);
	if (!write_meta(r->dir, r->meta, e))
		return 0;
	json_object_clear(r->meta);
	return -1;
}

static int start_in(struct record_session *s, const char *program, const char *shim, struct err *e)
{
	const struct record_opts *o = &s->opts;

	if (check_dir(s->result.dir, e))
		return -1;
	s->control = control_create(s->result.dir, o->sched, o->chaos_seed, o->malloc_mode, e);
	if (!s->control || (o->max_log && bound_prepare(s->control, o->max_log, e)) || prepare(o, program, shim, s->control, &s->result, e))
		return -1;
	if (!launch(s, program, shim, e))
		return 0;
	json_object_clear(s->result.meta); /* it has not run */
	return -1;
}

int record_start(struct record_session *s, const struct record_opts *o, struct err *e)
{
	cleanup_free char *program = check_find_program(o->argv[0], e);
	cleanup_free char *shim = NULL;
	bool existed = o->dir && path_exists(o->dir);
	struct err ignored;

	*s = (struct record_session){.opts = *o};
	if (!program || check_recordable(program, e) || !(shim = paths_shim(e)))
		return -1;
	if (strpbrk(shim, ": "))
		return err_set(e, ERR_HOST, "%s: LD_PRELOAD cannot name a path with ':' or ' ' in it",
			       shim);
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
	sync_meta(((const struct run *)run)->session->result.dir);
}

static bool when_told(void *run)
{
	return deadlock_look(&((struct run *)run)->deadlock);
}

static int run_to_end(struct record_session *s, const struct record_opts *o, struct err *e)
{
	struct run run = {.session = s};
	const struct wait_calls calls = {.later = while_it_runs, .told = when_told, .arg = &run};
	struct squeeze *squeeze;
	struct bound *bound;
	int status = 0, r;

	if (record_start(s, o, e))
		return -1;
	wait_started();
	run.deadlock = (struct deadlock){.control = s->control, .pid = s->pid};
	s->control->client = (uint64_t)getpid();
	bound = bound_start(s->result.dir, s->control);
	squeeze = bound ? NULL : squeeze_start(s->result.dir); /* what is bounded is small, and given up in parts of its own */
	r = wait_for_program(s->pid, &status, &calls, e);
	squeeze_stop(squeeze);
	bound_stop(bound);
	deadlock_fini(&run.deadlock);
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
