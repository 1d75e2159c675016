/* SPDX-License-Identifier: MIT */
/* segment.c: see segment.h. How threads wait for their turn is in rlog/replay.h. */
#include "replay/segment.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/maps.h"
#include "cell/wait.h"
#include "rlog/rlog.h"
#include "trace/blocked.h"

#define SLICE_NS 1000000000ull
#define STALLED_SLICES 5 /* that many waits in a row that ended with the thread asleep: it will not come any more */

/* The `syscall` instruction in [lo, hi) of the shim's text. 1: there is none. */
static int scan(pid_t pid, uint64_t lo, uint64_t hi, uint64_t *gadget, struct err *e)
{
	uint8_t b[4096];

	for (; lo < hi; lo += sizeof(b) - 1) {
		size_t n = hi - lo < sizeof(b) ? hi - lo : sizeof(b);

		if (trace_read(pid, lo, b, n, e))
			return -1;
		for (size_t i = 0; i + 1 < n; i++)
			if (b[i] == 0x0f && b[i + 1] == 0x05) {
				*gadget = lo + i;
				return 0;
			}
	}
	return 1;
}

static bool read_tids(pid_t pid, int32_t tids[RLOG_MAX_THREADS])
{
	return !trace_read(pid, REPLAY_CTL_ADDR + offsetof(struct replay_ctl, tid), tids,
			   RLOG_MAX_THREADS * sizeof(*tids), NULL);
}

uint32_t segment_thread_of(pid_t pid, pid_t tid)
{
	int32_t tids[RLOG_MAX_THREADS];

	if (read_tids(pid, tids))
		for (uint32_t i = 1; i < RLOG_MAX_THREADS; i++)
			if (tids[i] == tid)
				return i;
	return 0;
}

/* The TID by which the program knows thread i. */
static int32_t shown_tid(pid_t pid, const struct rlog_waits *at, uint32_t i, int32_t tid)
{
	uint64_t addr = at->threads + i * at->thread_size + at->at_shown_tid;
	int32_t shown;

	/* an older recorder, in whose recordings both are the same */
	if (!at->threads || !at->at_shown_tid)
		return tid;
	return trace_read(pid, addr, &shown, sizeof(shown), NULL) ? 0 : shown;
}

uint32_t segment_thread_shown_as(pid_t pid, pid_t shown)
{
	int32_t tids[RLOG_MAX_THREADS];
	struct rlog_waits at;

	if (read_tids(pid, tids) &&
	    !trace_read(pid, REPLAY_CTL_ADDR + offsetof(struct replay_ctl, waits), &at, sizeof(at), NULL))
		for (uint32_t i = 1; i < RLOG_MAX_THREADS; i++)
			if (tids[i] && shown_tid(pid, &at, i, tids[i]) == shown)
				return i;
	return 0;
}

pid_t segment_tid_of(pid_t pid, uint32_t thread)
{
	int32_t tids[RLOG_MAX_THREADS];

	return thread < RLOG_MAX_THREADS && read_tids(pid, tids) ? tids[thread] : 0;
}

int segment_find_gadget(pid_t pid, uint64_t *gadget, struct err *e)
{
	cleanup_maps struct maps maps = {0};
	struct mapping m;

	if (maps_open(&maps, pid, e))
		return -1;
	while (maps_next(&maps, &m)) {
		int r = m.exec && strstr(m.path, RLOG_SHIM_NAME) ? scan(pid, m.lo, m.hi, gadget, e) : 1;

		if (r <= 0)
			return r;
	}
	return err_set(e, ERR_INTERNAL, "process %d: no system call instruction in " RLOG_SHIM_NAME, (int)pid);
}

/*
 * Gives the turn to the thread that does event n + 1. The thread that did event n stays where it is, so
 * that a copy of the other one alone can go through the segment.
 */
static void hand_over(struct target *t, uint32_t thread, struct segment_turn *before)
{
	struct replay_ctl *c = t->ctl;

	*before = (struct segment_turn){c->stop_at, c->state, c->cmd, c->go, c->owner, c->wake[thread]};
	c->stop_at = c->turn + 1;
	c->cmd = REPLAY_CMD_RUN;
	/* target_run_to waits for this state when the thread, once released, is wanted elsewhere */
	__atomic_store_n(&c->state, REPLAY_RUNNING, __ATOMIC_RELEASE);
	if (c->parked == thread) {
		__atomic_add_fetch(&c->go, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &c->go, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
		return;
	}
	__atomic_store_n(&c->owner, thread, __ATOMIC_RELEASE);
	__atomic_add_fetch(&c->wake[thread], 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &c->wake[thread], FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
}

int segment_begin(struct segment *s, struct target *t, uint64_t n, struct err *e)
{
	struct timeline_where w;

	*s = (struct segment){.t = t, .n = n};
	if (n >= target_total(t))
		return err_set(e, ERR_USAGE, "nothing is recorded after the last event (%llu)", (unsigned long long)n);
	if (timeline_find(t->tl, n + 1, &w, e) || trace_prepare(true, e) || (t->cpu >= 0 && trace_pin(0, t->cpu, e)))
		return -1;
	/* in a fork child that is yet to come the thread is still the parent's */
	s->thread = w.thread;
	s->tid = target_tid(t, w.thread);
	if (!s->tid)
		s->tid = target_tid(t, t->ctl->parked);
	target_note_tids(t);
	if (segment_find_gadget(t->pid, &s->gadget, e) || trace_seize(&s->held, t->pid, s->tid, e))
		return err_wrap(e, "thread %u", w.thread);
	hand_over(t, w.thread, &s->before);
	return 0;
}

/* The thread that is parked at event n is to wait for its turn like all others: it may be the one that moves next. */
static void unpark(struct target *t)
{
	t->ctl->parked = 0; /* before the next parked thread writes its own number here */
	__atomic_add_fetch(&t->ctl->go, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &t->ctl->go, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
}

int segment_go_on(struct segment *s, struct err *e)
{
	if (s->t->ctl->parked != s->thread)
		unpark(s->t);
	return trace_detach(&s->held, false, e);
}

/*
 * Takes the turn back. The thread was stopped while waiting; when it goes on, it waits again, for the same values of
 * these words.
 */
static void take_back(struct target *t, uint32_t thread, const struct segment_turn *before)
{
	struct replay_ctl *c = t->ctl;

	c->stop_at = before->stop_at;
	c->state = before->state;
	c->cmd = before->cmd;
	__atomic_store_n(&c->owner, before->owner, __ATOMIC_RELEASE);
	__atomic_store_n(&c->go, before->go, __ATOMIC_SEQ_CST);
	__atomic_store_n(&c->wake[thread], before->wake, __ATOMIC_SEQ_CST);
}

int segment_cancel(struct segment *s, struct err *e)
{
	struct err why;
	int r;

	take_back(s->t, s->thread, &s->before);
	r = trace_detach(&s->held, false, e);
	return segment_end_tracing(r ? &why : e) ? -1 : r;
}

/* The tracer takes SIGCHLDs itself; cell/wait.h wants its handler back afterwards. */
int segment_end_tracing(struct err *e)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return cell_wait_setup(e);
}

int segment_end(struct segment *s, struct err *e)
{
	if (!s->t)
		return 0;
	if (s->held.alive) {
		trace_kill(&s->held);
		target_kill(s->t);
	}
	s->t = NULL;
	return segment_end_tracing(e);
}

int segment_read_turn(pid_t pid, uint64_t *turn, bool *failed, struct err *e)
{
	uint32_t state;

	if (trace_read(pid, SEGMENT_TURN_ADDR, turn, sizeof(*turn), e) ||
	    trace_read(pid, SEGMENT_STATE_ADDR, &state, sizeof(state), e))
		return -1;
	*failed = state == REPLAY_DIVERGED || state == REPLAY_FAILED;
	return 0;
}

int segment_is_over(const struct segment *s, pid_t pid, bool *over, struct err *e)
{
	uint64_t turn;
	bool failed;

	if (segment_read_turn(pid, &turn, &failed, e))
		return -1;
	*over = turn > s->n || failed;
	return 0;
}

int segment_check_stall(const struct segment *s, struct trace *t, unsigned most, unsigned *asleep, struct err *e)
{
	struct user_regs_struct r;
	uint64_t futex;

	if (trace_get_regs(t, &r, e))
		return -1;
	*asleep = blocked_in(&r, &futex) ? *asleep + 1 : 0;
	if (*asleep < most)
		return 0;
	return err_set(e, ERR_INTERNAL, "thread %u does not get from event %llu to the next", s->thread,
		       (unsigned long long)s->n);
}

static int arm(struct segment *s, uint64_t pc, struct err *e)
{
	if (s->armed == pc)
		return 0;
	if (trace_set_break(&s->held, 0, pc, e) || trace_set_watch(&s->held, 1, SEGMENT_TURN_ADDR, 8, e))
		return -1;
	s->armed = pc;
	return 0;
}

#define OTHER_SLOT 2
#define ARRIVAL_STACK 512

int segment_next(struct segment *s, uint64_t pc, struct err *e)
{
	static const struct trace_limit limit = {.wall_ns = SLICE_NS};
	struct trace_stop stop;
	unsigned asleep = 0;
	bool over = false;

	if (arm(s, pc, e))
		return -1;
	for (;;) {
		if (trace_cont(&s->held, s->sig, &limit, &stop, e))
			return -1;
		s->sig = stop.why == TRACE_SIGNAL ? stop.info.si_signo : 0;
		if (stop.why == TRACE_EXITED)
			return SEGMENT_OVER;
		if (stop.why == TRACE_HIT && stop.slots & 1u << OTHER_SLOT)
			s->passed++;
		if (stop.why == TRACE_HIT && stop.slots == 1)
			return SEGMENT_HIT;
		if (segment_is_over(s, s->held.pid, &over, e))
			return -1;
		if (over)
			return SEGMENT_OVER;
		if (stop.why == TRACE_TIMEOUT && segment_check_stall(s, &s->held, STALLED_SLICES, &asleep, e))
			return -1;
	}
}

/* Where a run has stopped, and what it has counted. */
struct arrival {
	uint64_t hits, passed;
	struct user_regs_struct regs;
	uint8_t stack[ARRIVAL_STACK]; /* its top */
};

static int arrive(struct segment *s, uint64_t pc, uint64_t hits, uint64_t other, struct arrival *a, struct err *e)
{
	int r = SEGMENT_HIT;

	*a = (struct arrival){0};
	s->passed = 0;
	if (other != pc && trace_set_break(&s->held, OTHER_SLOT, other, e))
		return -1;
	while (a->hits < hits && r == SEGMENT_HIT) {
		r = segment_next(s, pc, e);
		a->hits += r == SEGMENT_HIT;
	}
	a->passed = other == pc ? a->hits : s->passed;
	if (r < 0)
		return -1;
	if (r == SEGMENT_OVER)
		return 0;
	if (other != pc && trace_clear(&s->held, OTHER_SLOT, e))
		return -1;
	if (trace_get_regs(&s->held, &a->regs, e))
		return -1;
	trace_read_some(s->held.pid, a->regs.rsp, a->stack, sizeof(a->stack));
	return 0;
}

static int arrive_in_copy(struct segment *s, uint64_t pc, uint64_t hits, uint64_t other, struct arrival *a,
			  struct err *e)
{
	struct segment copy = *s;
	int r;

	if (trace_fork(&s->held, s->gadget, &copy.held, e))
		return -1;
	r = segment_unshare(&copy.held, e) || arrive(&copy, pc, hits, other, a, e) ? -1 : 0;
	trace_kill(&copy.held);
	return r;
}

/*
 * A processor may miss the hit of a debug register (localsearch/local_last.c), and the held thread cannot go back. So a
 * copy makes the same run first, and both must end in the same state.
 */
int segment_run_counting(struct segment *s, uint64_t pc, uint64_t hits, uint64_t other, uint64_t *passed, struct err *e)
{
	struct arrival before, now;

	if (arrive_in_copy(s, pc, hits, other, &before, e) || arrive(s, pc, hits, other, &now, e))
		return -1;
	if (memcmp(&before, &now, sizeof(now)) != 0)
		return err_set(
			e, ERR_INTERNAL,
			"the debug registers of this processor have missed a breakpoint: two runs to time %llu at "
			"0x%llx end in different states: try again",
			(unsigned long long)hits, (unsigned long long)pc);
	if (now.hits < hits)
		return err_set(e, ERR_USAGE, "thread %u is at 0x%llx only %llu times between event %llu and the next",
			       s->thread, (unsigned long long)pc, (unsigned long long)now.hits,
			       (unsigned long long)s->n);
	*passed = now.passed;
	return 0;
}

int segment_run_to(struct segment *s, uint64_t pc, uint64_t hits, struct err *e)
{
	uint64_t passed;

	return segment_run_counting(s, pc, hits, pc, &passed, e);
}

int segment_unshare(struct trace *copy, struct err *e)
{
	uint64_t gadget;

	return segment_find_gadget(copy->pid, &gadget, e) ? -1 : trace_unshare_memory(copy, gadget, e);
}

/*
 * Waits for the stop of a process that was released and has yet to reach it. Before that, the kernel does not give its
 * registers.
 */
static int wait_stopped(pid_t pid, struct err *e)
{
	siginfo_t info;
	int r;

	do
		r = waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL);
	while (r && errno == EINTR);
	return r ? err_errno(e, ERR_INTERNAL, "wait for the stop of process %d", (int)pid) : 0;
}

static int copy_from(const struct segment *s, struct trace *from, bool apart, pid_t *pid, struct err *e)
{
	static const uint64_t none[6];
	uint32_t off = 0;
	struct trace copy;
	int64_t session;

	if (trace_fork(from, s->gadget, &copy, e))
		return -1;
	if (trace_unshare_memory(&copy, s->gadget, e) || trace_end_with_parent(&copy, s->gadget, e) ||
	    (apart && trace_syscall(&copy, s->gadget, SYS_setsid, none, &session, e)) ||
	    trace_write(copy.pid, s->t->ctl->mode_addr, &off, sizeof(off), e) || trace_detach(&copy, true, e)) {
		trace_kill(&copy);
		return -1;
	}
	*pid = copy.pid;
	if (!wait_stopped(copy.pid, e))
		return 0;
	trace_kill(&copy);
	return -1;
}

int segment_copy(const struct segment *s, struct trace *from, pid_t *pid, struct err *e)
{
	return copy_from(s, from, false, pid, e);
}

int segment_copy_apart(const struct segment *s, struct trace *from, pid_t *pid, struct err *e)
{
	return copy_from(s, from, true, pid, e);
}

int segment_release(struct segment *s, struct err *e)
{
	return trace_detach(&s->held, true, e);
}
