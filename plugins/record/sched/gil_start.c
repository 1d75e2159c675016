/* SPDX-License-Identifier: MIT */
/* gil_start.c: a recording goes over from threads side by side to one thread at a time (gil.c). */
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/core/task.h"
#include "record/core/tsc_clock.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/sched/gil.h"
#include "record/store/log.h"

#include <time.h>

/*
 * When a short wait of a thread has expired while another thread runs, the thread may ask the other one to give way by
 * writing to memory alone, as interpreters with a lock of their own do. The log shows where the other thread sees that
 * only if one thread runs at a time from here on.
 */
#define SHORT_WAIT_US 20000u
#define STOP_TRIES 500
#define STOP_NS 200000l
#define STOP_POKE 10
#define STARVED_TRIES 10000 /* further tries after STOP_TRIES, while a thread waits for a processor */

/* Does x run the program's code? With in_shim, also a wrapper's, but not a call that may wait. */
static int runs(const struct thr *x, int in_shim)
{
	return x->tid && !x->exited && (!x->depth || (in_shim && !x->blocking));
}

static int others_run(const struct thr *t, int in_shim)
{
	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS; i++)
		if (&G.thr[i] != t && (runs(&G.thr[i], in_shim) || (G.thr[i].preempt.joins && !G.thr[i].gil.on)))
			return 1;
	return 0;
}

/*
 * Was the wait until *end (on whichever clock) meant to be short? Its length does not say: on a busy machine it takes
 * longer.
 */
static int was_short(const struct thr *t, const struct timespec *end)
{
	uint64_t us = (stamp_now() - t->last_stamp) / (G.control->tsc_hz / 1000000);
	struct timespec now;

	for (long clock = CLOCK_REALTIME; clock <= CLOCK_MONOTONIC; clock++) {
		int64_t over;

		raw2(SYS_clock_gettime, clock, &now);
		over = (now.tv_sec - end->tv_sec) * 1000000 + (now.tv_nsec - end->tv_nsec) / 1000;
		if (over >= 0 && (uint64_t)over <= us)
			return us - (uint64_t)over <= SHORT_WAIT_US;
	}
	return us <= SHORT_WAIT_US;
}

/*
 * Is one of the running threads only waiting for a processor? The recorder's signal will reach it before it does
 * anything else.
 */
static int others_starve(const struct thr *t)
{
	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS; i++)
		if (&G.thr[i] != t && runs(&G.thr[i], 0) && task_state(&G.thr[i]) == 'R')
			return 1;
	return 0;
}

static void poke_others(const struct thr *t)
{
	for (uint32_t i = 1; i < G.next_thread && i < RLOG_MAX_THREADS; i++) {
		struct thr *x = &G.thr[i];

		if (x != t && !x->gil.on && !x->own_process && runs(x, 0))
			interrupt_poke(x);
	}
}

static uint32_t started;

static void start_serial(struct thr *t)
{
	long pause[2] = {0, STOP_NS};

	gil_init(t);
	__atomic_store_n(&G.control->went_serial, 1, __ATOMIC_RELAXED);
	ev(t, RLOG_CALL, 0, RLOG_CALL_SERIAL, 0);
	__atomic_store_n(&G.serial, 1, __ATOMIC_SEQ_CST);
	sig_arm_traps();
	tsc_begin(t);
	raw2(SYS_membarrier, 1 /* MEMBARRIER_CMD_GLOBAL */, 0);
	/*
	 * all other threads stop at the end of their next event; one that makes none is interrupted, or runs on for a
	 * while
	 */
	for (int i = 0; i < STOP_TRIES + STARVED_TRIES && others_run(t, 0); i++) {
		if (i >= STOP_TRIES && !others_starve(t))
			break;
		if (i % STOP_POKE == STOP_POKE - 1)
			poke_others(t);
		raw2(SYS_nanosleep, pause, 0);
	}
}

void gil_start(struct thr *t, const struct timespec *end)
{
	if (G.mode != SHIM_RECORD || G.control->clock || G.control->tsc_hz < 1000000 || !was_short(t, end) ||
	    !others_run(t, 1) || __atomic_exchange_n(&started, 1, __ATOMIC_ACQ_REL))
		return;
	start_serial(t);
}

void gil_start_now(struct thr *t)
{
	if (G.mode == SHIM_RECORD && !G.serial && !__atomic_exchange_n(&started, 1, __ATOMIC_ACQ_REL))
		start_serial(t);
}

void gil_start_replay(struct thr *t)
{
	struct rlog_rec r;

	/* not a peek after a YIELD: the program's code may run before that */
	if (!turn_next_is(t, RLOG_CALL) || !turn_peek(t, &r) || r.op[0] != RLOG_CALL_SERIAL)
		return;
	turn_take(t, &r, RLOG_CALL);
	G.serial = 1;
	sig_arm_traps();
	tsc_begin(t);
	turn_done(t);
}

void gil_join(struct thr *t)
{
	/* no YIELD: a replay would take it at the thread's next event only, after the program's code up to there */
	if (!t->clean)
		ev(t, RLOG_CALL, 0, RLOG_CALL_JOINS, 0);
	gil_acquire(t);
}
