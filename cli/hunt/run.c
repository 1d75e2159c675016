/* SPDX-License-Identifier: MIT */
/* run.c: see run.h. */
#include "hunt/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdio.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "hunt/task.h"

#define HANGUP_S 60.0 /* how long the child may take after the end of the program, before it is ended too */
#define REST_S 2.0 /* how long what the program leaves behind may run on, without --timeout */
#define REST_TICK_S 0.2 /* between looks for processes of the run that are not our children */

/* ---- the child ---- */

struct child {
	const struct hunt_run *run;
	bool keep;
	double timeout_s; /* as the user has given it; not positive: none was given */
};

/* Ends all descendants of this process: they are all of this run. */
static void end_rest(void)
{
	while (waitpid(-1, NULL, WNOHANG) >= 0 && task_end_below(getpid()))
		;
}

/* The time until which processes that the program left behind may run on. */
static double rest_until(const struct child *c)
{
	return c->timeout_s > 0 ? c->run->started_s + c->timeout_s : clock_s() + REST_S;
}

/* Did a fault or abort(3) end it, and not a signal by which processes are ended? */
static bool is_crash(int status)
{
	static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP};

	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		if (WIFSIGNALED(status) && WTERMSIG(status) == crashes[i])
			return true;
	return false;
}

/*
 * The program has exited with 0. Processes that it has left behind, such as a daemon in the background, are a part of
 * the run: if one of them crashes, *status becomes its status.
 */
static void wait_for_rest(const struct child *c, int *status)
{
	struct hunt_outcome *o = c->run->outcome;
	double until = rest_until(c), left;
	sigset_t child, before;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	__atomic_store_n(&o->left, true, __ATOMIC_RELEASE);
	while ((left = until - clock_s()) > 0) {
		struct timespec tick = {.tv_nsec = left < REST_TICK_S ? (long)(left * 1e9) : (long)(REST_TICK_S * 1e9)};
		/* counted before waitpid: a process that ends in between has a status that is yet to be read */
		unsigned left_below = task_count_below(getpid());
		int one;
		pid_t pid = waitpid(-1, &one, WNOHANG);

		if (pid > 0 && is_crash(one)) {
			*status = one;
			break;
		}
		if (pid < 0 || (!pid && !left_below))
			break;
		if (!pid)
			sigtimedwait(&child, NULL, &tick);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* The program has ended: is its recording wanted? */
static bool ended(void *arg, int *status)
{
	const struct child *c = arg;
	struct hunt_outcome *o = c->run->outcome;

	if (WIFEXITED(*status) && !WEXITSTATUS(*status) && !__atomic_load_n(&o->unwanted, __ATOMIC_ACQUIRE) &&
	    !__atomic_load_n(&o->timed_out, __ATOMIC_ACQUIRE))
		wait_for_rest(c, status);
	end_rest();
	if (__atomic_load_n(&o->unwanted, __ATOMIC_ACQUIRE))
		return false;
	return c->keep || __atomic_load_n(&o->timed_out, __ATOMIC_ACQUIRE) || !WIFEXITED(*status) ||
	       WEXITSTATUS(*status);
}

static void standard_files(int out)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null >= 0)
		dup2(null, 0);
	dup2(out, 1);
	dup2(out, 2);
}

static void fail(struct hunt_outcome *o, const struct err *e)
{
	o->error = *e;
	o->failed = true;
}

static _Noreturn void child(const struct hunt_run *r, const struct hunt_spec *spec, const struct hunt_hooks *hooks,
			    bool keep, int out)
{
	cleanup_free char *rec = path_join(r->dir, "rec"), *cwd = path_join(r->dir, "cwd");
	struct child c = {r, keep, spec->timeout_s};
	const struct hunt_recording what = {.dir = rec,
					    .argv = spec->argv.s,
					    .cwd = spec->isolate ? cwd : spec->cwd,
					    .sched = r->sched,
					    .seed = r->seed,
					    .ended = ended,
					    .arg = &c};
	struct hunt_outcome *o = r->outcome;
	struct err e, ignored;
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGTERM); /* `record` passes it on to the program */
	setsid();
	standard_files(out);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* where the hunt was begun, since the program's path may be relative */
	if (!spec->isolate && chdir(spec->cwd)) {
		err_errno(&e, ERR_HOST, "%s", spec->cwd);
		fail(o, &e);
		_exit(0);
	}
	if (mkdir_p(spec->isolate ? cwd : r->dir, 0700, &e)) {
		e.kind = ERR_HOST;
		fail(o, &e);
		_exit(0);
	}
	if (hooks->record(&what, o, &e))
		fail(o, &e);
	if (!o->failed && !o->recorded)
		rm_rf(r->dir, &ignored);
	o->over = true;
	_exit(0);
}

/* ---- the hunt's side ---- */

static struct hunt_outcome *new_outcome(void)
{
	void *p = mmap(NULL, sizeof(struct hunt_outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int run_start(struct hunt_run *r, const struct hunt_spec *spec, const struct hunt_hooks *hooks, bool keep,
	      struct err *e)
{
	int pipe[2];

	r->out = -1;
	r->outcome = new_outcome();
	if (!r->outcome || pipe2(pipe, O_CLOEXEC))
		return err_errno(e, ERR_HOST, "a run cannot be started");
	fcntl(pipe[0], F_SETFL, O_NONBLOCK);
	r->output.head = xmalloc(RUN_OUTPUT);
	r->output.tail = xmalloc(RUN_OUTPUT);
	r->started_s = clock_s();
	r->pid = fork();
	if (!r->pid)
		child(r, spec, hooks, keep, pipe[1]);
	close(pipe[1]);
	r->out = pipe[0];
	if (r->pid > 0)
		return 0;
	r->pid = 0;
	return err_fork(e, "fork");
}

static void take(struct run_output *o, const char *p, size_t n)
{
	size_t head = RUN_OUTPUT - o->nhead < n ? RUN_OUTPUT - o->nhead : n;

	memcpy(o->head + o->nhead, p, head);
	o->nhead += head;
	o->total += head;
	for (p += head, n -= head; n;) {
		size_t at = (size_t)((o->total - RUN_OUTPUT) % RUN_OUTPUT),
		       some = RUN_OUTPUT - at < n ? RUN_OUTPUT - at : n;

		memcpy(o->tail + at, p, some);
		o->total += some;
		p += some;
		n -= some;
	}
}

void run_read(struct hunt_run *r)
{
	static char data[65536];

	/* bounded, since other runs write at the same time */
	for (unsigned i = 0; i < 16 && r->out >= 0; i++) {
		ssize_t n = read(r->out, data, sizeof(data));

		if (n > 0)
			take(&r->output, data, (size_t)n);
		if (n < 0 && errno != EINTR)
			return; /* nothing more now */
		if (!n) {
			close(r->out);
			r->out = -1;
		}
	}
}

double run_deadline_s(const struct hunt_run *r)
{
	bool left = r->outcome && __atomic_load_n(&r->outcome->left, __ATOMIC_ACQUIRE);

	return r->deadline_s + (left ? HANGUP_S : 0);
}

void run_end(struct hunt_run *r, const char *reason)
{
	double now = clock_s();

	if (!r->ended_for) {
		r->ended_for = reason;
		r->ended_s = now;
		/* set before the signal, so that it is known when the program ends */
		__atomic_store_n(str_eq(reason, "timeout") ? &r->outcome->timed_out : &r->outcome->unwanted, true,
				 __ATOMIC_RELEASE);
	}
	if (!r->pid || r->outcome->over)
		return;
	if (!r->outcome->ended)
		task_end_below(r->pid);
	if (r->outcome->unwanted || now - r->ended_s > HANGUP_S)
		kill(r->pid, SIGKILL);
}

int run_save_output(const struct hunt_run *r, struct err *e)
{
	const struct run_output *o = &r->output;
	uint64_t after_head = o->total - o->nhead; /* bytes, the last of which are in the ring */
	size_t kept = after_head < RUN_OUTPUT ? (size_t)after_head : RUN_OUTPUT,
	       first = after_head > kept ? (size_t)(after_head % RUN_OUTPUT) : 0;
	cleanup_free char *path = path_join(r->dir, "output");
	cleanup_buf struct buf b = {0};

	buf_add(&b, o->head, o->nhead);
	if (after_head > kept)
		buf_addf(&b, "\n[fred: %llu bytes are left out here]\n", (unsigned long long)(after_head - kept));
	buf_add(&b, o->tail + first, kept - first);
	buf_add(&b, o->tail, first);
	if (!write_file(path, b.data ? b.data : "", b.len, 0600, e))
		return 0;
	e->kind = ERR_HOST;
	return -1;
}

void run_fini(struct hunt_run *r)
{
	if (r->out >= 0)
		close(r->out);
	if (r->outcome)
		munmap(r->outcome, sizeof(*r->outcome));
	free(r->output.head);
	free(r->output.tail);
	free(r->dir);
	*r = (struct hunt_run){.out = -1};
}

/* ---- how it failed ---- */

static json_t *notes_of(const struct hunt_outcome *o)
{
	cleanup_strv struct strv lines = {0};
	json_t *list = json_array();

	strv_split(&lines, o->notes, "\n");
	for (size_t i = 0; i < lines.n; i++)
		json_array_append_new(list, json_text(lines.s[i], strlen(lines.s[i])));
	return list;
}

static json_t *failure(const char *kind, char *text, const char *key, int value, const struct hunt_outcome *o)
{
	json_t *v = json_pack("{s:s, s:o}", "kind", kind, "text", json_text(text, strlen(text)));

	free(text);
	if (key)
		json_object_set_new(v, key, json_integer(value));
	if (o->notes[0])
		json_object_set_new(v, "notes", notes_of(o));
	return v;
}

json_t *run_failure(const struct hunt_run *r)
{
	const struct hunt_outcome *o = r->outcome;

	if (o->timed_out) {
		cleanup_free char *time = str_fmt("%.0f s", r->deadline_s - r->started_s);

		return failure("timeout", str_fmt("it did not end within %s", time), NULL, 0, o);
	}
	if (o->signal && strstr(o->notes, "(deadlock)"))
		return failure("deadlock", xstrdup("all threads wait for each other (deadlock)"), "signal", o->signal,
			       o);
	if (o->signal)
		return failure(
			"signal",
			str_fmt("it was ended by SIG%s", sigabbrev_np(o->signal) ? sigabbrev_np(o->signal) : "?"),
			"signal", o->signal, o);
	if (o->code)
		return failure("exit", str_fmt("it exited with %d", o->code), "code", o->code, o);
	return NULL;
}
