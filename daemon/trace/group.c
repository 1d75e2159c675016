/* SPDX-License-Identifier: MIT */
/* group.c: see group.h and ptrace(2), "PTRACE_O_TRACECLONE". */
#include "trace/group.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "trace/internal.h"

struct group_thread *group_find(const struct group *g, pid_t tid)
{
	for (unsigned i = 0; i < g->n; i++)
		if (g->v[i]->t.tid == tid)
			return g->v[i];
	return NULL;
}

#define SLEEP_FIRST_US 50u

static struct group_thread *add(struct group *g, pid_t tid)
{
	struct group_thread *th = xcalloc(1, sizeof(*th));

	th->t.pid = g->pid;
	th->t.tid = tid;
	th->t.mortal = g->mortal;
	g->v = xreallocarray(g->v, g->n + 1, sizeof(g->v[0]));
	g->v[g->n++] = th;
	return th;
}

static void forget(struct group *g, struct group_thread *th)
{
	for (unsigned i = 0; i < g->n; i++)
		if (g->v[i] == th)
			g->v[i] = g->v[--g->n];
	free(th);
}

static void forget_all(struct group *g)
{
	while (g->n)
		forget(g, g->v[0]);
	free(g->v);
	memset(g, 0, sizeof(*g));
}

static int follow_clones(const struct group *g, struct group_thread *th, struct err *e)
{
	th->t.options = PTRACE_O_TRACECLONE | g->options;
	if (ptrace(PTRACE_SETOPTIONS, th->t.tid, 0, th->t.options) && errno != ESRCH)
		return err_errno(e, trace_why_failed(), "PTRACE_SETOPTIONS of %d", (int)th->t.tid);
	return 0;
}

/* Seizes the threads that are not held yet; returns their number, or -1. */
static int seize_new(struct group *g, struct err *e)
{
	char path[64];
	struct dirent *d;
	DIR *dir;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)g->pid);
	dir = opendir(path);
	if (!dir)
		return err_errno(e, trace_why_failed(), "%s", path);
	while (r >= 0 && (d = readdir(dir))) {
		pid_t tid = (pid_t)strtol(d->d_name, NULL, 10);
		struct group_thread *th;

		if (tid <= 0 || group_find(g, tid))
			continue;
		th = add(g, tid);
		r = trace_seize(&th->t, g->pid, tid, e) || follow_clones(g, th, e) ? -1 : r + 1;
	}
	closedir(dir);
	return r;
}

int group_adopt(struct group *g, pid_t pid, struct err *e)
{
	struct group_thread *th;

	g->pid = pid;
	th = add(g, pid);
	th->t.alive = true;
	return follow_clones(g, th, e);
}

int group_seize(struct group *g, pid_t pid, struct err *e)
{
	int r;

	memset(g, 0, sizeof(*g));
	g->pid = pid;
	do
		r = seize_new(g, e);
	while (r > 0);
	return r;
}

int group_release(struct group *g, struct err *e)
{
	for (unsigned i = 0; i < g->n; i++)
		if (!g->v[i]->dying &&
		    (!g->v[i]->t.alive || g->v[i]->sig || g->v[i]->pending || trace_has_trap(&g->v[i]->t)))
			return 1;
	for (unsigned i = 0; i < g->n; i++)
		if (g->v[i]->t.alive && trace_detach(&g->v[i]->t, false, e))
			return -1;
	forget_all(g);
	return 0;
}

/* The signal that is to be delivered to the thread. */
static int signal_of(const struct group_thread *th)
{
	if (!th->pending || th->stop.why != TRACE_SIGNAL)
		return th->sig;
	return th->stop.info.si_signo == SIGTRAP && th->stop.info.si_code > 0 ? 0 : th->stop.info.si_signo;
}

int group_let_go(struct group *g, struct err *e)
{
	for (unsigned i = 0; i < g->n; i++)
		if (!g->v[i]->dying && (!g->v[i]->t.alive || trace_has_trap(&g->v[i]->t)))
			return 1;
	for (unsigned i = 0; i < g->n; i++) {
		struct group_thread *th = g->v[i];

		if (th->t.alive && (trace_clear_all(&th->t, e) ||
				    (ptrace(PTRACE_DETACH, th->t.tid, 0, signal_of(th)) && errno != ESRCH)))
			return err_errno(e, trace_why_failed(), "release thread %d", (int)th->t.tid);
	}
	forget_all(g);
	return 0;
}

void group_kill(struct group *g)
{
	if (!g->pid)
		return;
	kill(g->pid, SIGKILL);
	trace_reap(g->pid);
	forget_all(g);
}

int group_set_slot(struct trace *t, unsigned i, const struct group_slot *s, struct err *e)
{
	switch (s->kind) {
	case GROUP_OFF:
		return trace_clear(t, i, e);
	case GROUP_BREAK:
		return trace_set_break(t, i, s->addr, e);
	case GROUP_WRITE:
	case GROUP_STORE:
		return trace_set_watch(t, i, s->addr, s->len, e);
	case GROUP_ACCESS:
		break;
	}
	return trace_set_access(t, i, s->addr, s->len, e);
}

static int set_slots(struct group *g, struct trace *t, struct err *e)
{
	for (unsigned i = 0; i < TRACE_SLOTS; i++)
		if (group_set_slot(t, i, &g->slot[i], e))
			return -1;
	return 0;
}

static int resume_thread(struct group *g, struct group_thread *th, struct err *e)
{
	int sig = th->sig;

	if (set_slots(g, &th->t, e))
		return -1;
	th->sig = 0;
	th->t.alive = false;
	trace_note_step(&th->t, th->step);
	if (ptrace(th->step ? PTRACE_SINGLESTEP : PTRACE_CONT, th->t.tid, 0, sig) && errno != ESRCH)
		return err_errno(e, trace_why_failed(), "resume thread %d", (int)th->t.tid);
	return 0;
}

static int resume_all(struct group *g, struct err *e)
{
	g->waiting = false;
	for (unsigned i = 0; i < g->n; i++)
		g->waiting |= g->v[i]->pending;
	for (unsigned i = 0; !g->waiting && i < g->n; i++)
		if (g->v[i]->t.alive && resume_thread(g, g->v[i], e))
			return -1;
	return 0;
}

int group_resume(struct group *g, pid_t step, struct err *e)
{
	g->sleep_us = 0;
	for (unsigned i = 0; i < g->n; i++)
		g->v[i]->step = g->v[i]->t.tid == step;
	return resume_all(g, e);
}

int group_resume_one(struct group *g, struct group_thread *th, struct err *e)
{
	return g->waiting ? resume_all(g, e) : resume_thread(g, th, e);
}

/* A new process: not one of the group's threads. */
static bool is_child(const struct group *g, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)g->pid, (int)tid);
	return g->forked && access(path, F_OK) != 0;
}

static int let_child_go(struct group *g, pid_t pid, struct err *e)
{
	g->forked(g->arg, pid);
	if (!ptrace(PTRACE_DETACH, pid, 0, 0) || errno == ESRCH)
		return 0;
	return err_errno(e, trace_why_failed(), "release the new process %d", (int)pid);
}

bool group_is_exec(const struct trace_stop *s)
{
	return WIFSTOPPED(s->status) && s->status >> 16 == PTRACE_EVENT_EXEC;
}

static bool is_exit(int status)
{
	return status >> 16 == PTRACE_EVENT_EXIT;
}

bool group_is_exit(const struct group_thread *th, const struct trace_stop *s, int *status)
{
	unsigned long got = 0;

	if (!WIFSTOPPED(s->status) || !is_exit(s->status) || ptrace(PTRACE_GETEVENTMSG, th->t.tid, 0, &got))
		return false;
	*status = (int)got;
	return true;
}

bool group_is_dying(const struct trace_stop *s)
{
	return WIFSTOPPED(s->status) && is_exit(s->status);
}

int group_let_die(struct group *g, struct group_thread *th, struct err *e)
{
	th->dying = true;
	th->sig = 0;
	return resume_thread(g, th, e);
}

/* A thread that was just created may not have joined the group yet. */
static bool has_one_thread(const struct group *g)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)g->pid);
	return g->n == 1 && (stat(path, &st) || st.st_nlink == 2 + 1);
}

/* Does the process exit by this thread? Not by one that is killed because another one exits or execs. */
static bool ends_process(const struct group *g, struct group_thread *th)
{
	struct user_regs_struct r;
	struct err ignored;
	unsigned long status = 0;

	if (ptrace(PTRACE_GETEVENTMSG, th->t.tid, 0, &status) || !WIFEXITED((int)status) ||
	    trace_get_regs(&th->t, &r, &ignored))
		return false;
	return r.orig_rax == SYS_exit_group || (r.orig_rax == SYS_exit && has_one_thread(g));
}

/* A child was made: it tells of itself. */
static bool is_birth(int status)
{
	int event = status >> 16;

	return event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK;
}

static bool is_interrupt(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
}

/* Handles stops that concern only this file: the thread goes on. 1: it was one. */
static int is_internal(struct group *g, struct group_thread *th, int status, struct err *e)
{
	bool start = th->fresh && status >> 16 == PTRACE_EVENT_STOP;
	bool stale = th->t.stale_interrupt && is_interrupt(status), dying = false;

	if (is_exit(status)) {
		th->t.alive = true;
		dying = !ends_process(g, th);
	}
	if (!start && !stale && !dying && !is_birth(status))
		return 0;
	th->t.alive = true;
	th->dying |= dying;
	if (start)
		th->fresh = false;
	if (stale)
		th->t.stale_interrupt = false;
	if (start && follow_clones(g, th, e))
		return -1;
	return resume_thread(g, th, e) ? -1 : 1;
}

/* Handles a wait status of any thread. Returns as group_wait. */
static int take(struct group *g, pid_t tid, int status, struct group_thread **out, struct trace_stop *stop,
		struct err *e)
{
	struct group_thread *th = group_find(g, tid);
	int r;

	if (!WIFSTOPPED(status)) {
		if (th)
			forget(g, th);
		if (tid != g->pid)
			return 0;
		g->status = status;
		return trace_was_killed(&(struct trace){.pid = tid, .mortal = g->mortal}, status, e) ? -1 : 2;
	}
	if (!th && is_child(g, tid))
		return let_child_go(g, tid, e);
	if (!th) {
		th = add(g, tid);
		th->fresh = true;
	}
	/* whichever thread called it, it is the only one now */
	for (unsigned i = g->n; status >> 16 == PTRACE_EVENT_EXEC && i-- > 0;)
		if (g->v[i] != th)
			forget(g, g->v[i]);
	r = is_internal(g, th, status, e);
	if (r)
		return r < 0 ? -1 : 0;
	if (trace_classify(&th->t, status, stop, e))
		return -1;
	*out = th;
	return 1;
}

static void sleep_for_child(unsigned us)
{
	struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigtimedwait(&set, NULL, &ts);
}

/* How long to sleep next. Short at first, since a short way may be over at any moment. */
static unsigned next_sleep_us(struct group *g, unsigned ms)
{
	unsigned us = g->sleep_us ? g->sleep_us : SLEEP_FIRST_US;

	if (us >= 1000 * ms)
		return 1000 * ms;
	g->sleep_us = 2 * us;
	return us;
}

int group_wait(struct group *g, unsigned ms, struct group_thread **out, struct trace_stop *stop, struct err *e)
{
	bool slept = false;

	for (unsigned i = 0; i < g->n; i++)
		if (g->v[i]->pending) {
			g->v[i]->pending = false;
			*out = g->v[i];
			*stop = g->v[i]->stop;
			return 1;
		}
	for (;;) {
		int status, r;
		pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);

		if (tid < 0 && errno == ECHILD)
			return g->mortal ? 2 : err_set(e, ERR_KILLED, "process %d is gone", (int)g->pid);
		if (tid > 0) {
			r = take(g, tid, status, out, stop, e);
			if (r)
				return r;
			continue;
		}
		if (slept)
			return 0;
		sleep_for_child(next_sleep_us(g, ms));
		slept = true;
	}
}

/* The thread may have stopped for another reason, or ended, before the interrupt came. 1: it ended. */
static int stop_one(struct group *g, struct group_thread *th, struct err *e)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, th->t.tid, 0, 0) && errno != ESRCH)
		return err_errno(e, trace_why_failed(), "PTRACE_INTERRUPT of %d", (int)th->t.tid);
	if (trace_wait(&th->t, 0, &status, e) < 0)
		return -1;
	if (!WIFSTOPPED(status)) {
		if (trace_was_killed(&th->t, status, e))
			return -1;
		forget(g, th);
		return 1;
	}
	th->t.alive = true;
	if (th->fresh) {
		th->fresh = false;
		if (follow_clones(g, th, e))
			return -1;
	}
	if (is_interrupt(status))
		return 0;
	th->t.stale_interrupt = true;
	if (is_birth(status))
		return 0;
	if (is_exit(status) && !ends_process(g, th)) {
		th->dying = true;
		return resume_thread(g, th, e);
	}
	th->pending = true;
	return trace_classify(&th->t, status, &th->stop, e);
}

int group_stop(struct group *g, struct err *e)
{
	g->waiting = false;
	for (unsigned i = 0; i < g->n;) {
		int r = g->v[i]->t.alive || g->v[i]->dying ? 0 : stop_one(g, g->v[i], e);

		if (r < 0)
			return -1;
		if (!r)
			i++;
	}
	return 0;
}
