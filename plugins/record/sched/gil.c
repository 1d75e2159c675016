/* SPDX-License-Identifier: MIT */
/*
 * gil.c: recording with --sched serial or chaos: one thread at a time runs the program's code.
 *
 * A thread holds the gil while it runs, and gives it up only right after a stamped record: at an event
 * when its slice is over and others wait (gil_point), or around a call that may wait (gil_block, which
 * logs a YIELD when the last record is none of its own that is stamped). So the segments of the timeline
 * are what really ran without interruption, and data races, atomics and lock-free code replay exactly.
 *
 * A thread that has made no event for a while, although others wait, may spin until one of them does
 * something. The first of those sends it SIG_PREEMPT, and it logs a PREEMPT there (interrupt.c).
 *
 * Forbidden: to be interrupted by a handler that comes here too. Signals queue while blocking is 0.
 */
#include "record/sched/gil.h"
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/event/ev.h"
#include "record/event/hooks.h"
#include "record/sched/chaos.h"
#include "record/sched/deadlock.h"
#include "record/store/log.h"

#include <time.h>

#define SLICE_HZ 1000u /* slices a second */
#define SLICE_LOOKS 64u /* events between two readings of the clock */
#define SLICE_COUNTED 500u /* stamps, where they are a counter */
/* ns without an event that may be a spin-wait; less while there are many of them */
#define PATIENCE_MAX 100000000l
#define PATIENCE_MIN 5000000l
/* the same with chaos, always: the schedule is not to depend on the time */
#define PATIENCE_CHAOS 50000000l
#define LOOK_CHAOS 1000000l /* ns; only the round in which a spin is interrupted depends on the time */
#define LOOK_MIN 250000l /* ns: least time between two checks for a spin-wait */
#define LOOKS_MIN 8
#define CALM_TURNS 32u
#define COMPUTE_TURNS 16 /* how often threads may run, at most, to end their computations */

static struct gil {
	uint32_t lock; /* futex: 0 free, 1 taken, 2 taken and waited for; guards the rest */
	uint32_t owner; /* ordinal, 0: nobody */
	uint32_t first, last; /* waiting threads by ordinal, through gil_next */
	uint32_t waiters;
	uint32_t looks; /* the owner's, in this slice */
	int idle; /* chaos: nobody runs, though a thread waits */
	int computes; /* see gil_lets_compute() */
	uint64_t slice_end; /* a stamp */
	uint64_t slice_start, slice_cpu; /* the stamp of its beginning; its owner's CPU time then, in ns */
	long patience; /* ns */
	uint64_t turns; /* how often the gil was handed over */
	uint64_t seen_turns; /* `turns` at the watchdog's last look */
	const uint8_t *seen_cur;
} gil;

struct gil_group gil_group;

static void gil_lock(void)
{
	uint32_t zero = 0;

	if (__atomic_compare_exchange_n(&gil.lock, &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(&gil.lock, 2, __ATOMIC_ACQUIRE))
		raw_futex_wait(&gil.lock, 2);
}

static void gil_unlock(void)
{
	if (__atomic_exchange_n(&gil.lock, 0, __ATOMIC_RELEASE) == 2)
		raw_futex_wake(&gil.lock, 1);
}

static int chaos(void)
{
	return G.mode == SHIM_RECORD && G.control->sched == RLOG_SCHED_CHAOS;
}

/* A new slice for the thread that now holds the gil. */
static void new_slice(void)
{
	uint64_t hz = G.control->tsc_hz ? G.control->tsc_hz : 2000000000u;

	gil.slice_start = G.control->clock ? __atomic_load_n(&G.control->next_stamp, __ATOMIC_RELAXED) : stamp_now();
	gil.slice_cpu = task_cpu_ns();
	gil.slice_end = gil.slice_start + (G.control->clock ? SLICE_COUNTED : hz / SLICE_HZ);
	gil.looks = 0;
}

static void enqueue(struct thr *t)
{
	t->gil.next = 0;
	t->gil.go = 0;
	if (gil.last)
		G.thr[gil.last].gil.next = t->ordinal;
	else
		gil.first = t->ordinal;
	__atomic_store_n(&gil.last, t->ordinal, __ATOMIC_RELAXED);
	gil.waiters++;
	__atomic_store_n(&t->gil.queued, 1, __ATOMIC_RELEASE);
}

/* Takes the thread after prev (0: the first one) out of the queue. */
static struct thr *unlink_after(uint32_t prev)
{
	uint32_t *link = prev ? &G.thr[prev].gil.next : &gil.first;
	struct thr *t = &G.thr[*link];

	*link = t->gil.next;
	if (gil.last == t->ordinal)
		__atomic_store_n(&gil.last, prev, __ATOMIC_RELAXED);
	gil.waiters--;
	t->gil.queued = 0;
	return t;
}

/* Chaos: the waiting threads, in the order of their ordinals, since the order in which they came may be chance. */
static uint32_t list_waiting(uint32_t *waiting)
{
	uint32_t n = 0, i;

	for (uint32_t at = gil.first; at && n < CHAOS_CHOICE; at = G.thr[at].gil.next) {
		for (i = n++; i && waiting[i - 1] > at; i--)
			waiting[i] = waiting[i - 1];
		waiting[i] = at;
	}
	return n;
}

static struct thr *unlink_thread(uint32_t ordinal)
{
	uint32_t prev = 0;

	for (uint32_t at = gil.first; at != ordinal; at = G.thr[at].gil.next)
		prev = at;
	return unlink_after(prev);
}

static void give(struct thr *to)
{
	gil.owner = to->ordinal;
	__atomic_store_n(&to->gil.go, 1, __ATOMIC_RELEASE);
	raw_futex_wake(&to->gil.go, 1);
}

/* Chaos: gives the gil to one of the waiting threads, or to none for a while. */
static void give_chosen(const uint32_t *waiting, uint32_t i)
{
	gil.idle = i == CHAOS_NOBODY;
	if (gil.idle)
		gil.owner = 0;
	else
		give(unlink_thread(waiting[i]));
}

/* Chaos: none runs, but now a thread has come, or the time is over. */
static void give_again(void)
{
	uint32_t waiting[CHAOS_CHOICE], n = list_waiting(waiting);

	gil.turns++;
	give_chosen(waiting, chaos_idled(waiting, n));
}

/* Hands the gil to a waiting thread, or to none. The caller holds the lock. */
static void hand_over(void)
{
	uint32_t waiting[CHAOS_CHOICE], n;

	if (++gil.turns % CALM_TURNS == 0 && gil.patience < PATIENCE_MAX && !G.chaos)
		gil.patience *= 2;
	if (!gil.waiters || gil_group.wanted())
		gil_group.leave();
	if (!gil.waiters) {
		gil.owner = 0;
		return;
	}
	if (!chaos()) {
		give(unlink_after(0));
		return;
	}
	n = list_waiting(waiting);
	give_chosen(waiting, chaos_next(waiting, n));
}

/* Chaos: the same where the owner could go on. 1: the owner keeps the gil. */
static int hand_over_or_stay(int yields)
{
	uint32_t waiting[CHAOS_CHOICE], n = list_waiting(waiting), i;

	i = yields ? chaos_yield(waiting, n) : chaos_choose(gil.owner, waiting, n);
	if (i == CHAOS_STAY)
		return 1;
	gil.turns++;
	give_chosen(waiting, i);
	return 0;
}

/*
 * Has the owner made no event since the last look? The last thread that came looks: it is awake. patient: the owner has
 * run long enough to be interrupted in any case; else it is interrupted only if it spins.
 */
static int watchdog(struct thr *t, int patient)
{
	struct thr *o;
	int same;

	gil_lock();
	o = &G.thr[gil.owner];
	/* that process was killed, but not this one: see adopt.c */
	if (gil.owner && o->own_process && process_is_dead((uint32_t)o->tid)) {
		hand_over();
		gil_unlock();
		return 0;
	}
	if (gil.last != t->ordinal) {
		gil_unlock();
		return 0;
	}
	same = gil.owner && gil.seen_turns == gil.turns && gil.seen_cur == o->log.cur && (!o->depth || o->creates);
	if (same && patient) {
		interrupt_poke(o);
		if (gil.patience > PATIENCE_MIN && !G.chaos)
			gil.patience /= 2;
	} else if (same && !(G.chaos && chaos_ops.runs(o))) {
		interrupt_sample(o);
	}
	gil.seen_turns = gil.turns;
	gil.seen_cur = o->log.cur;
	gil_unlock();
	return same;
}

/* Chaos: a thread has come, and gets the gil if none runs. */
static void come(void)
{
	gil_lock();
	if (!gil.owner && gil.first)
		give_again();
	gil_unlock();
}

/* Chaos: none has run for long enough. */
static void end_idling(void)
{
	if (gil.idle)
		come();
}

static int is_last(const struct thr *t)
{
	return __atomic_load_n(&gil.last, __ATOMIC_RELAXED) == t->ordinal;
}

/*
 * How long to wait until the next look. It is short at first, since a thread that spins does so from the start. waited:
 * for how long the owner has made no event, as far as was seen.
 */
static long next_look(const struct thr *t, long waited)
{
	long left = gil.patience - waited;

	if (!is_last(t))
		return gil.patience;
	if (chaos())
		return left > LOOK_CHAOS ? LOOK_CHAOS : left;
	if (waited < LOOKS_MIN * LOOK_MIN)
		return LOOK_MIN;
	return left > waited ? waited : left > LOOK_MIN ? left : LOOK_MIN;
}

static void wait_go(struct thr *t)
{
	long waited = 0;

	while (!__atomic_load_n(&t->gil.go, __ATOMIC_ACQUIRE)) {
		long look = next_look(t, waited), spin[2] = {0, gil.idle ? CHAOS_IDLE_NS : look};

		if (raw4(SYS_futex, &t->gil.go, FUTEX_WAIT, 0, spin) == -110 /* ETIMEDOUT */) {
			if (gil.idle)
				end_idling();
			else
				waited = watchdog(t, waited + look >= gil.patience) ? waited + look : 0;
			if (waited >= gil.patience)
				waited = 0;
		}
		if (G.mode != SHIM_RECORD)
			return;
	}
	ending_wait();
	if (chaos()) { /* the thread that gave it may not have begun to wait yet */
		chaos_settle(t);
		chaos_ops.arm(t);
	}
	gil_group.enter(t);
	new_slice();
}

void gil_acquire(struct thr *t)
{
	if (t->gil.on || G.mode != SHIM_RECORD)
		return;
	__atomic_store_n(&t->gil.on, 1, __ATOMIC_RELEASE); /* on its way: see chaos_settle.c */
	t->chaos.coming = 0;
	if (unlikely(G.deadlock))
		deadlock_over();
	gil_lock();
	t->chaos.sleeps = 0;
	if (!gil.owner && !chaos()) {
		gil.owner = t->ordinal;
		gil.turns++;
		gil_unlock();
		ending_wait();
		gil_group.enter(t);
		new_slice();
		return;
	}
	enqueue(t);
	gil_unlock();
	if (chaos() && !gil.owner) {
		/* not the first of the woken threads is to decide: waits for all of them */
		chaos_settle(t);
		come();
	}
	wait_go(t);
}

void gil_release(struct thr *t)
{
	if (!t->gil.on)
		return;
	if (chaos())
		chaos_settle(t);
	t->gil.on = 0;
	gil_lock();
	hand_over();
	gil_unlock();
}

static struct thr *interrupted_one(void)
{
	for (uint32_t at = gil.first; at; at = G.thr[at].gil.next)
		if (G.thr[at].preempt.stands)
			return &G.thr[at];
	return 0;
}

/* Lets a thread that was interrupted go first. 0: there is none. */
static int turn_to_interrupted(struct thr *t)
{
	struct thr *x;

	gil_lock();
	x = interrupted_one();
	if (x) {
		gil.turns++;
		give(unlink_thread(x->ordinal));
		enqueue(t);
	}
	gil_unlock();
	if (x)
		wait_go(t);
	return x != 0;
}

void gil_let_compute(struct thr *t)
{
	int any;

	if (G.mode != SHIM_RECORD || !t->gil.on)
		return;
	gil_lock();
	any = interrupted_one() != 0;
	gil_unlock();
	if (!any)
		return;
	t->clean = 0;
	ev(t, RLOG_YIELD, 0, 0, 0);
	gil.computes = 1;
	for (int i = 0; i < COMPUTE_TURNS && turn_to_interrupted(t);)
		i++;
	gil.computes = 0;
}

int gil_lets_compute(void)
{
	return gil.computes;
}

int gil_lets_create(struct thr *t)
{
	/* whether the new thread or the one that created it is faster must not depend on chance */
	if (chaos() && !__atomic_load_n(&gil.waiters, __ATOMIC_RELAXED))
		return 0;
	gil_release(t);
	return 1;
}

void gil_created(const struct thr *c)
{
	if (chaos())
		chaos_await(c);
}

/* No other thread of this process waits, but perhaps another process does. */
static void switch_process(struct thr *t)
{
	if (!gil_group.wanted())
		return;
	gil_group.yield(t);
	new_slice();
}

void gil_sleeps(struct thr *t, uint64_t ns)
{
	if (chaos() && t->gil.on)
		chaos_sleeps(t, ns);
}

/* Chaos: decides who runs, when others wait or may be about to. */
static void decide(struct thr *t, int yields)
{
	int stays;

	chaos_settle(t);
	if (!__atomic_load_n(&gil.waiters, __ATOMIC_RELAXED)) {
		switch_process(t);
		return;
	}
	gil_lock();
	stays = !gil.waiters || hand_over_or_stay(yields);
	if (!stays)
		enqueue(t);
	gil_unlock();
	if (!stays)
		wait_go(t);
}

/* Hands the gil to another thread, if one waits. */
static void switch_now(struct thr *t)
{
	if (!__atomic_load_n(&gil.waiters, __ATOMIC_RELAXED)) {
		switch_process(t);
		return;
	}
	gil_lock();
	if (!gil.waiters) {
		gil_unlock();
		return;
	}
	/* hand_over must not find this thread in the queue: a switch to itself is none */
	hand_over();
	enqueue(t);
	gil_unlock();
	wait_go(t);
}

void gil_switch(struct thr *t)
{
	if (!t->gil.on || G.mode != SHIM_RECORD)
		return;
	if (chaos())
		decide(t, 1);
	else
		switch_now(t);
}

void gil_before(struct thr *t)
{
	if (!chaos() || !t->gil.on || G.mode != SHIM_RECORD || !chaos_due(t, 1))
		return;
	t->clean = 0;
	ev(t, RLOG_YIELD, 0, 0, 0);
	decide(t, 0);
}

void gil_point(struct thr *t)
{
	if (chaos()) {
		if (!t->gil.on || G.mode != SHIM_RECORD)
			return;
		if (chaos_due(t, 0))
			decide(t, 0);
		else
			chaos_woke(t);
		return;
	}
	if (!__atomic_load_n(&gil.waiters, __ATOMIC_RELAXED) && !gil_group.wanted())
		return;
	if (t->last_stamp < gil.slice_end)
		return;
	gil_switch(t);
}

void gil_look(struct thr *t)
{
	if (t->gil.on && ++gil.looks >= SLICE_LOOKS) {
		gil.looks = 0;
		gil_switch(t);
	}
}

void gil_block(struct thr *t)
{
	for (;;) {
		if (t->pending) {
			event_hooks.deliver_pending(t);
			t->clean = 0;
		}
		if (!t->clean)
			ev(t, RLOG_YIELD, 0, 0, 0);
		if (t->internal)
			deadlock_look(t, gil_wanted);
		gil_release(t);
		t->blocking = 1;
		if (!t->pending)
			return;
		t->blocking = 0;
		gil_acquire(t);
	}
}

void gil_unblock(struct thr *t)
{
	t->blocking = 0;
	gil_acquire(t);
}

void gil_leave(struct thr *t)
{
	if (t->gil.on) {
		deadlock_look(t, gil_wanted);
		ending_begin(t);
	}
	gil_release(t);
}

void gil_init(struct thr *t)
{
	__builtin_memset(&gil, 0, sizeof(gil));
	G.chaos = chaos();
	if (G.chaos) {
		chaos_init(G.control->chaos_seed + G.process * 0x10001ull);
		chaos_ops.begin();
	}
	gil.owner = t->ordinal;
	gil.patience = G.chaos ? PATIENCE_CHAOS : PATIENCE_MAX;
	t->gil.on = 1;
	new_slice();
}

/* ---- threads that spin without events ---- */

int gil_wanted(const struct thr *t)
{
	return G.serial && t->gil.on && (__atomic_load_n(&gil.waiters, __ATOMIC_RELAXED) || gil_group.wanted());
}

uint64_t gil_slice_start(uint64_t *cpu_ns)
{
	*cpu_ns = gil.slice_cpu;
	return gil.slice_start;
}

void gil_preempt(struct thr *t)
{
	if (chaos())
		chaos_spun(t->ordinal);
	switch_now(t);
}

const char interrupt_ours;

static void send(const struct thr *t)
{
	siginfo_t si = {.si_signo = SIG_PREEMPT, .si_code = SI_QUEUE};

	si.si_pid = (int)raw0(SYS_getpid);
	si.si_value.sival_ptr = (void *)&interrupt_ours;
	raw4(SYS_rt_tgsigqueueinfo, si.si_pid, t->tid, SIG_PREEMPT, &si);
}

void interrupt_poke(struct thr *t)
{
	t->preempt.due = 1;
	send(t);
}

void interrupt_sample(struct thr *t)
{
	t->preempt.sampled = 1;
	send(t);
}
