/* SPDX-License-Identifier: MIT */
/*
 * cs.c: recording in parallel: one critical section at a time.
 *
 * Programs that are careful with locks still read under one lock what is written under another (the merge
 * tree of sort, say): whoever is second then sees it sooner or later, and no log of the locks tells when. So
 * a thread that holds a mutex also holds the turn of this file, and lets go of it with its last mutex, or
 * around a call that may wait (behind a YIELD, if its last record is not stamped). What runs outside
 * of locks, where the work is done, stays parallel. See gil.c for the same with all code.
 *
 * A program that holds a mutex for long would be slowed down: after some waits of WAIT_MAX this is off.
 *
 * The turn also makes stamps cheap (cs_stamp). The order by end stamps needs that a release's stamp (1) is taken before
 * the release can be seen, and (2) is higher than those of all releases that its thread has seen before, whoever
 * made them. A plain rdtsc gives (1): it has retired before a later store can be seen. But it may be executed before
 * an earlier acquire is through, so that (2) needs a fence, which costs more than all the rest.
 * What a thread with the turn has acquired, if it was mutexes only (`fence` is 0), was let go either with the turn,
 * and then `cs.stamp` is at least the stamp of that: it is brought up to date before the turn is let go, and the turn
 * before the mutex; or without it (it was locked before there were two threads; in a handler during a wait; after a
 * wait of WAIT_MAX): then `cs.outside` is. Both were written before that mutex was free, and are read behind its
 * acquire. A stamp above both therefore has (2) without a fence. Being one more than another never makes it later than
 * the clock, since a hand-over takes longer than a tick: so stamps with a fence, taken later, are higher.
 * Every other acquire, that is every record without a stamp, sets `fence`: the next stamp then has one.
 */
#include "record/core/state.h"
#include "record/event/cs.h"

#define WAIT_MAX_NS 20000000l

struct cs cs;

static int take(void)
{
	uint32_t zero = 0;

	return __atomic_compare_exchange_n(&cs.turn, &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static int take_soon(void)
{
	for (unsigned i = 0; i < SPIN_LOOKS; i++) {
		spin_pause(i);
		if (!__atomic_load_n(&cs.turn, __ATOMIC_RELAXED) && take())
			return 1;
	}
	return 0;
}

static void take_later(struct thr *t)
{
	long limit[2] = {0, WAIT_MAX_NS};

	while (__atomic_exchange_n(&cs.turn, 2, __ATOMIC_ACQUIRE)) {
		if (raw4(SYS_futex, &cs.turn, FUTEX_WAIT, 2, limit) != -110 /* ETIMEDOUT */)
			continue;
		cs.long_waits++; /* two threads at once may count one: no matter */
		return;
	}
	t->cs = 1;
}

void cs_acquire(struct thr *t)
{
	if (likely(take()) || take_soon())
		t->cs = 1;
	else
		take_later(t);
}

void cs_release(struct thr *t)
{
	t->cs = 0;
	if (likely(t->last_stamp > cs.stamp))
		cs.stamp = t->last_stamp;
	if (unlikely(__atomic_exchange_n(&cs.turn, 0, __ATOMIC_RELEASE) == 2))
		raw_futex_wake(&cs.turn, 1);
}

void cs_outside(struct thr *t)
{
	uint64_t old = __atomic_load_n(&cs.outside, __ATOMIC_RELAXED);

	while (old < t->last_stamp && !__atomic_compare_exchange_n(&cs.outside, &old, t->last_stamp, 0,
								   __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

void cs_resume(struct thr *t)
{
	t->cs_paused = 0;
	if (t->mutexes && cs.long_waits < CS_WAITS_MAX && G.mode == SHIM_RECORD)
		cs_acquire(t);
}

void cs_exit(struct thr *t)
{
	if (t->cs)
		cs_release(t);
}

void cs_fork_child(struct thr *t)
{
	cs.turn = 0;
	t->cs = t->cs_paused = 0;
}
