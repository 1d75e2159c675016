/* SPDX-License-Identifier: MIT */
/*
 * interrupt.c: recording: interrupts a computation that makes no events, when a signal or (in serial mode) another
 * thread waits for the next event, and logs a PREEMPT record with the place, which a replay finds again (seek.c).
 *
 * SIG_PREEMPT comes from a timer or from a thread that waits. Its handler runs on the recorder's own stack
 * (own_stack.h): from there other threads can run, and handlers below what the program has on its stack.
 */
#include "record/preempt/interrupt.h"
#include "record/core/own_stack.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/dbt/spin.h"
#include "record/event/ev.h"
#include "record/event/hooks.h"
#include "record/preempt/point.h"
#include "record/sched/chaos.h"
#include "record/sched/gil.h"
#include "record/store/log.h"

#include <time.h>

#define LATE_NS 20000000l /* a waiting signal interrupts the program after this time without an event */
#define AGAIN_NS 1000000l /* when to try again, if the thread was inside the recorder */
#define SOON_NS 30000l /* the same at the recorder's edge, or in the middle of an instruction */
#define SPUN_NS 500000u /* the same as LATE_NS for a thread that spins */
/* the same with chaos: longer than adaptive locks spin before they wait in a call */
#define SPUN_CHAOS_NS 3000000u
/* CPU time without an event, at least: a thread that only waited for a processor has not computed. */
#define LEAST_NS 1000000u
/*
 * While a whole machine stands still, its processes' CPU time goes on: so part of the time is measured once more, by
 * itself.
 */
#define SURE_NS 20000u

static void set_timer(const struct thr *t, long first_ns, long again_ns)
{
	struct itimerspec when = {{0, again_ns}, {0, first_ns}};

	raw4(SYS_timer_settime, t->preempt.timer - 1, 0, &when, 0);
}

static int make_timer(struct thr *t)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIG_PREEMPT};
	int id;

	if (t->preempt.timer)
		return 0;
	ev.sigev_value.sival_ptr = (void *)&interrupt_ours;
	ev._sigev_un._tid = t->tid;
	if (raw3(SYS_timer_create, CLOCK_MONOTONIC, &ev, &id))
		return -1;
	t->preempt.timer = id + 1;
	return 0;
}

static void mark(struct thr *t)
{
	t->preempt.mark_cpu = task_cpu_ns();
	t->preempt.mark_stamp = stamp_now();
	t->preempt.mark_cur = t->log.cur;
	t->preempt.sure_cpu = 0;
}

static void arm(struct thr *t, long first_ns)
{
	if (t->preempt.armed || make_timer(t))
		return;
	t->preempt.armed = 1;
	mark(t);
	set_timer(t, first_ns, AGAIN_NS);
}

static uint64_t computed_ns(const struct thr *t, uint64_t now)
{
	return now - (t->preempt.left_cpu > t->preempt.mark_cpu ? t->preempt.left_cpu : t->preempt.mark_cpu);
}

/*
 * Has the thread computed for a while without an event? On a busy machine it may have waited for a processor. Only a
 * few instructions after an event is too early: a replay would pass the place before it can look.
 */
static int computes(struct thr *t, uint64_t least_ns)
{
	if (t->preempt.mark_cur == t->log.cur)
		return computed_ns(t, task_cpu_ns()) >= least_ns;
	t->preempt.due = 0; /* no spin */
	mark(t);
	return 0;
}

/* Has an earlier tick found the same computation? Then a replay has time to look. */
static int surely(struct thr *t)
{
	uint64_t now = task_cpu_ns();

	if (!t->preempt.sure_cpu || t->preempt.left_cpu > t->preempt.sure_cpu)
		t->preempt.sure_cpu = now;
	return now - t->preempt.sure_cpu >= SURE_NS;
}

void interrupt_late(struct thr *t)
{
	arm(t, LATE_NS);
}

void interrupt_disarm(struct thr *t)
{
	if (!t->preempt.armed)
		return;
	t->preempt.armed = 0;
	set_timer(t, 0, 0);
}

/*
 * The CPU time since the last event, as far as it is known. It is measured from the mark on; before that, only the wall
 * time is known, part of which other processes may have had. For a thread that runs alone, it is measured from the
 * beginning of its slice.
 */
static void run_time(const struct thr *t, struct point *p)
{
	uint64_t mhz = G.control->clock ? 0 : G.control->tsc_hz / 1000000, now = task_cpu_ns(), before = 0;
	uint64_t slice, since_slice;

	if (mhz && t->last_stamp < t->preempt.mark_stamp)
		before = (t->preempt.mark_stamp - t->last_stamp) / mhz * 1000;
	p->run_ns = now - t->preempt.mark_cpu + before / 2;
	p->least_ns = now - t->preempt.mark_cpu + before / 8;
	if (G.serial && t->gil.on && mhz) {
		slice = gil_slice_start(&since_slice);
		since_slice = now - since_slice;
		before = t->last_stamp > slice ? (t->last_stamp - slice) / mhz * 1000 : 0;
		p->run_ns = since_slice > before ? since_slice - before : 0;
		if (slice > t->last_stamp || p->run_ns > p->least_ns)
			p->least_ns = p->run_ns;
		if (p->run_ns < p->least_ns)
			p->run_ns = p->least_ns;
	}
	/* a replay has no page faults of the group and no traps of chaos/, so it may be there sooner */
	if (p->least_ns > now - t->preempt.left_cpu)
		p->least_ns = now - t->preempt.left_cpu;
}

/* Writes the record: a struct point, and what belongs to it. */
static int write_place(struct thr *t, const void *at, uint64_t len)
{
	if (ev_bytes(t, RLOG_PREEMPT, 0, 0, at, len))
		return -1;
	t->clean = 1;
	return 0;
}

/* -1: the place cannot be described. */
static int log_place(struct thr *t, const ucontext_t *uc)
{
	uint64_t len;
	struct point *at = (struct point *)(uintptr_t)point_look(t, uc, &len);

	if (!at)
		return -1;
	at->hits = 0;
	run_time(t, at);
	return write_place(t, at, len);
}

/* The same for a place that is described by the number of its passes (chaos_step.c). -1: no other thread waits. */
static int log_counted(struct thr *t, const ucontext_t *uc)
{
	struct point at = {.hits = t->chaos.place_hits};

	t->chaos.place_hits = 0;
	chaos_settle(t);
	if (!gil_wanted(t))
		return -1;
	at.reg[REG_RIP] = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	at.reg[REG_RSP] = (uint64_t)uc->uc_mcontext.gregs[REG_RSP];
	return write_place(t, &at, sizeof(at));
}

void interrupt_take(struct thr *t, ucontext_t *uc)
{
	uint64_t mask = *(uint64_t *)&uc->uc_sigmask & ~SIG_OURS;
	int counted = t->chaos.place_hits != 0, preempt = t->preempt.due || counted, logged = 0;
	struct split split = {0};

	own_stack_enter(t, uc);
	/* the thread ran in parallel until now; the one that made it stop waits for its record */
	t->preempt.joins = G.serial && !t->gil.on;
	t->depth = 1;
	t->selector = 0;
	interrupt_disarm(t);
	t->preempt.due = 0;
	if (counted && G.chaos)
		chaos_ops.look(&split, uc);
	if ((counted ? log_counted(t, uc) : log_place(t, uc)) == 0) {
		raw4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
		t->preempt.stands = 1;
		if (t->preempt.joins)
			gil_acquire(t);
		else if (preempt)
			gil_preempt(t);
		t->preempt.stands = 0;
		if (G.chaos)
			chaos_ops.write(t, &split);
		event_hooks.deliver_pending(t);
		t = self;
		if (G.chaos) {
			chaos_ops.see((uint64_t)uc->uc_mcontext.gregs[REG_RIP]);
			chaos_ops.resumes(t, uc);
		}
		logged = 1;
	}
	t->preempt.joins = 0;
	t->depth = 0;
	t->selector = 1;
	if (G.chaos && logged)
		chaos_ops.steps(t, uc);
}

/*
 * A thread was interrupted in a parallel recording, since it made no event: does it wait for what another thread
 * writes?
 */
static void look_in_parallel(struct thr *t, const ucontext_t *uc)
{
	if (!t->depth && !t->blocking && !interrupt_in_shim(uc) && spin_here(uc))
		__atomic_store_n(&G.spins, 1, __ATOMIC_RELAXED);
	t->preempt.sampled = 0;
	/* the thread that asked waits for this, and reads G.spins */
	__atomic_store_n(&t->preempt.due, 0, __ATOMIC_RELEASE);
}

/* Other threads wait, and this one has made no event for a little while: if it spins, it gives up the turn at once. */
static void sample(struct thr *t, const ucontext_t *uc)
{
	t->preempt.sampled = 0;
	if (t->preempt.due || t->depth || t->blocking || !t->gil.on || interrupt_in_shim(uc) ||
	    (G.chaos && chaos_ops.runs(t)) || !computes(t, G.chaos ? SPUN_CHAOS_NS : SPUN_NS) || !spin_here(uc))
		return;
	t->preempt.due = t->preempt.spins = 1;
}

static void tick(struct thr *t, ucontext_t *uc)
{
	/* a thread that is inside the recorder, or in a call that waits, joins when it comes out */
	int joins = G.serial && !t->gil.on && !G.chaos && !t->depth && !t->blocking;

	if (t->preempt.due && t->creates == CREATES_KEEPS) { /* perhaps it waits for a thread that waits for the turn */
		t->preempt.due = 0;
		t->creates = CREATES_LETS_GO;
		gil_release(t);
		return;
	}
	if ((t->preempt.due || t->preempt.sampled) && !G.serial)
		look_in_parallel(t, uc);
	if (t->preempt.sampled)
		sample(t, uc);
	if (t->preempt.due && !joins && !gil_wanted(t))
		t->preempt.due = 0;
	if (!t->preempt.due)
		t->preempt.spins = 0;
	if (t->preempt.due)
		arm(t, AGAIN_NS); /* if it cannot be done now */
	if (!t->pending && !t->preempt.due) {
		interrupt_disarm(t);
		return;
	}
	if (t->depth || t->blocking || (G.serial && !t->gil.on && !joins) || (G.chaos && chaos_ops.runs(t)) ||
	    !computes(t, t->preempt.spins ? SPUN_NS : LEAST_NS))
		return; /* the timer fires again */
	/*
	 * The time was spent in the recorder, not in the program: when the program goes on, a replay has passed the
	 * place before it can look.
	 */
	if (interrupt_in_shim(uc)) {
		task_not_computing(t);
	} else if (surely(t) && !point_in_middle(uc)) {
		interrupt_take(t, uc);
		return;
	}
	set_timer(t, SOON_NS, AGAIN_NS);
}

/* Is the signal the recorder's? The program may use it, too. */
static int is_ours(struct thr *t, const siginfo_t *si)
{
	const void *value = si->si_value.sival_ptr;

	if (si->si_code != SI_TIMER && si->si_code != SI_QUEUE)
		return 0;
	if (value == &interrupt_ours)
		return 1;
	if (!t || (value != GROUP_POKE && value != GROUP_SAMPLE))
		return 0;
	/* another process of the group waits, or did when it sent this */
	if (gil_wanted(t) && value == GROUP_POKE)
		t->preempt.due = 1;
	else if (gil_wanted(t))
		t->preempt.sampled = 1;
	return 1;
}

void interrupt_handler(int sig, siginfo_t *si, void *ucv)
{
	struct thr *t = self;

	if (t && G.mode == SHIM_REPLAY) {
		seek_tick(t, ucv);
		return;
	}
	if (!is_ours(t, si)) {
		sig_handlers.program(sig, si, ucv);
		return;
	}
	if (t->blocking)
		t->interrupted |= INTERRUPTED_BY_US;
	if (G.mode == SHIM_RECORD)
		tick(t, ucv);
}
