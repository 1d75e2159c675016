/* SPDX-License-Identifier: MIT */
/*
 * run.c: resumes the live process with all its threads. GDB does not see the recorder's own signals, and a call into
 * the recorder is one step (visibility/visibility.h).
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/maps.h"
#include "base/str.h"
#include "launch/launch.h"
#include "live/internal.h"
#include "trace/rep.h"
#include "visibility/regs.h"
#include "visibility/stepper.h"

#define POLL_MS 20
/* after this many stops that GDB is not told of, it is checked whether GDB interrupts */
#define STOPS_ASK 64
#define SETTLE_WAITS 5 /* a thread waits if it was found asleep more often than this, in a row */
#define SETTLE_STOPS 30000 /* about a second of single steps */
/* ... but no longer than this: single steps may be slow on a busy machine, and the user waits for the prompt */
#define SETTLE_S 5.0

struct run {
	struct live *l;
	struct stepper s;
	unsigned stops; /* so far */
	bool settling;
	bool coming; /* a SIGINT of the terminal is on its way */
	unsigned waits; /* how many looks in a row found the thread asleep */
	double looked; /* when that was */
	double until; /* when settling ends (clock_s) */
	bool stopped, passed; /* passed: at a breakpoint whose condition is false */
	struct rsp_stop *stop;
};

static void stop_for(struct run *r, enum rsp_why why, pid_t tid, int sig)
{
	*r->stop = (struct rsp_stop){.why = why, .tid = tid, .sig = sig};
	r->stopped = true;
}

bool live_in_call(struct live *l, struct trace *t, struct user_regs_struct *r)
{
	return shim_frames_of_call(&l->shim_frames, &l->visibility, t->pid, r);
}

static struct stepper stepper_of(struct live *l, pid_t tid)
{
	return (struct stepper){.group = &l->group,
				.breaks = &l->breaks,
				.shim_frames = &l->shim_frames,
				.visibility = &l->visibility,
				.tid = tid};
}

static bool is_watch(struct run *r, struct group_thread *th, const struct trace_stop *s)
{
	const struct group_slot *w = stepper_watch(&r->s, s);

	if (!w)
		return false;
	stop_for(r, RSP_WATCHPOINT, th->t.tid, 0);
	r->stop->addr = w->addr;
	r->stop->point = w->kind == GROUP_ACCESS ? RSP_ACCESS : RSP_WRITE;
	return true;
}

/* Finds the recorder, which is mapped some time after the start, and at another address after an exec. */
static void look_around(struct live *l)
{
	struct err ignored;

	if (!l->visibility.shim.lo)
		visibility_find(l->group.pid, &l->visibility, &ignored);
}

static void say(struct live *l, const char *text)
{
	struct err ignored;

	rsp_say(&l->conn, text, strlen(text), &ignored);
}

/*
 * The recorder places a new image and changes its auxiliary vector by ptrace (plugins/record/proc/exec.c), which it
 * cannot while this process traces the program: so it is done here. The vector of a 32-bit program, which is not
 * recorded, stays.
 */
static void prepare_image(struct live *l, struct group_thread *th)
{
	struct rlog_control *c = l->rec.control;
	uint32_t pid = (uint32_t)th->t.pid;
	struct err e;

	if (__atomic_compare_exchange_n(&c->traced_exec, &pid, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		if (launch_executed(th->t.pid, c->traced_stack, &e)) {
			cleanup_free char *text = str_fmt("fred: it cannot be replayed from here on: %s\n", e.text);

			say(l, text);
		}
		th->t.stale_interrupt = false; /* the program has stopped for another reason */
	}
	launch_fix_auxv(th->t.pid, NULL, &e);
}

static int become_another(struct run *r, struct group_thread *th)
{
	struct live *l = r->l;

	prepare_image(l, th);
	breaks_fini(&l->breaks); /* GDB takes the breakpoints for gone with the old program, and sets them again */
	shim_frames_fini(&l->shim_frames);
	memset(&l->visibility, 0, sizeof(l->visibility));
	stop_for(r, RSP_EXECED, th->t.tid, 0);
	return 0;
}

/* Holds the program at its exit, where its memory still exists: after the exit GDB could not go back. */
static int hold_at_end(struct run *r, struct group_thread *th, int status)
{
	struct live *l = r->l;
	cleanup_free char *text = str_fmt(
		"fred: the program exits with code %d: reverse commands go back from here, `continue` ends it\n",
		WEXITSTATUS(status));

	say(l, text);
	l->ending = true;
	stop_for(r, RSP_END, th->t.tid, 0);
	return 0;
}

/*
 * Is it the fault by which the program dies, as GDB has decided? The recorder has noted the fault in its handler and
 * removed the handler; now the fault happens again.
 */
static bool is_fault_again(struct run *r, struct group_thread *th, const struct trace_stop *s)
{
	const struct rsp_stop *last = &r->l->stop;

	return trace_is_fault(s) && last->why == RSP_SIGNALLED && last->tid == th->t.tid &&
	       last->sig == regs_gdb_signal(s->info.si_signo) && r->l->passed == s->info.si_signo &&
	       !live_is_caught(th->t.pid, s->info.si_signo);
}

/* Lets GDB decide whether the program gets a signal; the recorder's own signals are passed on without asking. */
static void take_signal(struct run *r, struct group_thread *th, const struct trace_stop *s)
{
	bool sent = s->info.si_signo == r->l->sent;

	if (sent)
		r->l->sent = 0;
	if (sent || !breaks_stops_at_signal(&r->l->breaks, s->info.si_signo) || live_is_internal(&th->t, &s->info) ||
	    is_fault_again(r, th, s))
		th->sig = s->info.si_signo;
	else
		stop_for(r, RSP_SIGNALLED, th->t.tid, regs_gdb_signal(s->info.si_signo));
}

/* GDB 13 forgets that one thread is being stepped when another one reports libraries (TARGET_WAITKIND_LOADED). */
static void at_break(struct run *r, struct group_thread *th)
{
	enum breaks_verdict v = breaks_wanted(&r->l->breaks, &th->t);
	bool library = v == BREAKS_LIBRARY && (!r->s.tid || r->s.tid == th->t.tid);

	if (v == BREAKS_PASS)
		r->passed = true;
	else
		stop_for(r, library ? RSP_LIBRARY : RSP_BREAKPOINT, th->t.tid, 0);
}

/* Decides whether GDB is told of a thread's stop; if not, the thread goes on. */
static int judge(struct run *r, struct group_thread *th, struct trace_stop *s, struct err *e)
{
	int yes = trace_is_int3(s) ? breaks_hit(&r->l->breaks, &th->t, e) : 0, status;

	if (trace_finish_rep(&th->t, s, e))
		return -1;
	if (group_is_exec(s))
		return become_another(r, th);
	if (group_is_exit(th, s, &status))
		return hold_at_end(r, th, status);
	if (yes > 0)
		at_break(r, th);
	else if (!yes && !is_watch(r, th, s) && s->why == TRACE_SIGNAL)
		take_signal(r, th, s);
	if (r->passed)
		return 0;
	if (!yes && !r->stopped && (yes = stepper_sees(&r->s, th, s, e)) > 0)
		stop_for(r, RSP_STEPPED, th->t.tid, 0);
	if (yes < 0)
		return -1;
	return r->stopped ? 0 : stepper_go_on(&r->s, th, e);
}

static void gone(struct run *r)
{
	int status = r->l->group.status;

	if (WIFSIGNALED(status))
		stop_for(r, RSP_DIED, 0, regs_gdb_signal(WTERMSIG(status)));
	else
		stop_for(r, RSP_EXITED, 0, WEXITSTATUS(status));
	r->l->group.n = 0;
}

/*
 * The thread in which an interrupt is shown: the last one, if it runs the program's code; else any that does; else the
 * last one.
 */
static pid_t interrupted_thread(struct live *l)
{
	struct group_thread *last = group_find(&l->group, l->tid);
	struct user_regs_struct regs;
	struct err ignored;

	for (unsigned i = 0; i <= l->group.n; i++) {
		struct group_thread *th = i ? l->group.v[i - 1] : last;

		if (th && th->t.alive && !trace_get_regs(&th->t, &regs, &ignored) && !live_in_call(l, &th->t, &regs))
			return th->t.tid;
	}
	return last ? last->t.tid : l->group.v[0]->t.tid;
}

/*
 * Is the thread asleep? Whether it has moved says nothing: on a busy machine a thread that can run may not run for a
 * long time.
 */
static bool is_asleep(pid_t pid, pid_t tid)
{
	cleanup_free char *path = str_fmt("/proc/%d/task/%d/stat", (int)pid, (int)tid);
	char state = maps_state(path);

	return state == 'S' || state == 'D';
}

/* Does the thread that is settling wait for another thread? */
static bool waits(struct run *r)
{
	double now = clock_s();

	if (now - r->looked < POLL_MS / 1000.0)
		return false;
	r->looked = now;
	r->waits = is_asleep(r->l->group.pid, r->s.tid) ? r->waits + 1 : 0;
	return r->waits > SETTLE_WAITS;
}

/*
 * Does GDB or the user interrupt? quiet: nothing has happened for a while. A Ctrl-C must be noticed also while there
 * are many stops that GDB is not told of.
 */
static bool is_interrupted(struct run *r, bool quiet)
{
	r->stops += !quiet;
	if (r->settling && (waits(r) || r->stops > SETTLE_STOPS || clock_s() > r->until))
		return true;
	return (quiet || r->stops % STOPS_ASK == 0) && rsp_interrupted(&r->l->conn);
}

static int wait_stop(struct run *r, struct err *e)
{
	struct live *l = r->l;

	while (!r->stopped && !r->passed) {
		struct group_thread *th = NULL;
		struct trace_stop s;
		int got = group_wait(&l->group, POLL_MS, &th, &s, e);

		/* this stop was pending: the other threads have not been resumed yet */
		if (got < 0 || (got == 1 && (judge(r, th, &s, e) ||
					     (!r->stopped && !r->passed && group_resume(&l->group, r->s.tid, e)))))
			return -1;
		if (got == 2) {
			gone(r);
			return 0;
		}
		if (!r->stopped && is_interrupted(r, !got)) {
			if (group_stop(&l->group, e))
				return -1;
			stop_for(r, RSP_SIGNALLED, interrupted_thread(l), SIGINT);
		}
	}
	return group_stop(&l->group, e);
}

/*
 * The thread stopped at a breakpoint at the same time as another one did: sets it back, so that it comes to the
 * breakpoint again.
 */
static int put_back(struct live *l, struct group_thread *th, struct err *e)
{
	int yes;

	if (!th->pending || !trace_is_int3(&th->stop))
		return 0;
	yes = breaks_hit(&l->breaks, &th->t, e);
	if (yes > 0)
		th->pending = false;
	return yes < 0 ? -1 : 0;
}

/*
 * A thread at a breakpoint executes one instruction without it; so does the stepped thread, if its instruction cannot
 * block. The other threads stay stopped meanwhile, and signals stay pending; only a Ctrl-C is taken, since there may be
 * many steps.
 */
static int step_off(struct run *r, struct group_thread *th, struct err *e)
{
	struct live *l = r->l;
	struct trace_stop s;
	uint64_t pc;

	if (!th->t.alive || th->pending || trace_get_pc(&th->t, &pc, e))
		return th->t.alive && !th->pending ? -1 : 0;
	if (!breaks_has(&l->breaks, pc) &&
	    (th->t.tid != r->s.tid || r->coming || !visibility_is_certain(&l->visibility, pc)))
		return 0;
	if (stepper_off(&r->s, th, &s, e))
		return -1;
	if (s.why == TRACE_EXITED)
		return 0;
	if (group_is_dying(&s)) /* it dies of the signal with which it was resumed */
		return group_let_die(&l->group, th, e);
	if (is_watch(r, th, &s))
		return 0;
	if (s.why == TRACE_SIGNAL)
		take_signal(r, th, &s);
	if (r->stopped || s.why != TRACE_STEPPED || trace_get_pc(&th->t, &pc, e))
		return r->stopped || s.why != TRACE_STEPPED ? 0 : -1;
	if (breaks_has(&l->breaks, pc) && th->t.tid == r->s.tid)
		at_break(r, th);
	r->passed = false;
	if (!r->stopped && stepper_sees(&r->s, th, &s, e) > 0)
		stop_for(r, RSP_STEPPED, th->t.tid, 0);
	return 0;
}

static int run(struct run *r, struct err *e)
{
	struct live *l = r->l;
	struct err why;
	int got = 0;

	if (stepper_begin(&r->s, e))
		return -1;
	r->coming = live_is_coming(&l->group, SIGINT);
	for (unsigned i = 0; i < l->group.n && !r->stopped; i++)
		if (step_off(r, l->group.v[i], e))
			return -1;
	if (r->stopped)
		return 0;
	got = stepper_resume(&r->s, e) || wait_stop(r, e) ? -1 : 0;
	if (l->group.n && group_stop(&l->group, got ? &why : e))
		got = -1;
	for (unsigned i = 0; i < l->group.n && !got; i++)
		got = put_back(l, l->group.v[i], e);
	if (l->group.n && breaks_take_out(&l->breaks, l->group.pid, got ? &why : e))
		got = -1;
	return got;
}

static int run_on(struct run *r, struct err *e)
{
	int ret;

	do {
		r->passed = false;
		ret = run(r, e);
	} while (!ret && r->passed && !r->stopped);
	return ret;
}

/*
 * An interrupt may stop a thread in the recorder's code, where it is not known how much of a call has been recorded.
 * The thread goes on until it has left that code, or blocks, or for a while.
 */
static int settle(struct live *l, struct rsp_stop *out, struct err *e)
{
	struct rsp_stop now;
	struct run r = {
		.l = l, .s = stepper_of(l, out->tid), .stop = &now, .settling = true, .until = clock_s() + SETTLE_S};
	struct group_thread *th = group_find(&l->group, out->tid);
	struct user_regs_struct regs;

	if (!th || !th->t.alive || th->pending)
		return 0;
	if (trace_get_regs(&th->t, &regs, e))
		return -1;
	if (!live_in_call(l, &th->t, &regs))
		return 0;
	if (run_on(&r, e))
		return -1;
	if (now.why == RSP_LIBRARY) /* GDB resumes the program from there by itself */
		l->conn.interrupted = true;
	if (now.why == RSP_STEPPED || (now.why == RSP_SIGNALLED && now.sig == SIGINT))
		out->tid = now.tid;
	else
		*out = now;
	return 0;
}

/*
 * GDB may resume the program again and again, for example for `next` in a long loop. An interrupt that came between two
 * steps stops it before it moves. If the program is to get a signal first, it is not stopped, as the signal would be
 * lost.
 */
static bool is_interrupted_before(struct live *l)
{
	return !l->passed && rsp_interrupted(&l->conn);
}

int live_resume(struct live *l, enum rsp_resume how, pid_t tid, struct rsp_stop *out, struct err *e)
{
	struct run r = {.l = l, .s = stepper_of(l, how == RSP_STEP ? tid : 0), .stop = out};
	int ret = 0;

	look_around(l);
	if (is_interrupted_before(l))
		stop_for(&r, RSP_SIGNALLED, interrupted_thread(l), SIGINT);
	else
		ret = run_on(&r, e);
	l->passed = 0;
	if (!ret && out->why == RSP_SIGNALLED && out->sig == SIGINT)
		ret = settle(l, out, e);
	if (ret)
		return -1;
	look_around(l);
	l->tid = out->tid;
	l->stop = *out;
	return 0;
}
