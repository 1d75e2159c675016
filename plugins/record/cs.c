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
 */
#include "record/shim.h"

#define WAIT_MAX_NS 20000000l
#define WAITS_MAX 8

static uint32_t turn; /* futex: 0 free, 1 taken, 2 taken and waited for */
static int long_waits;

static void acquire(struct thr *t)
{
	long limit[2] = {0, WAIT_MAX_NS};
	uint32_t zero = 0;

	if (likely(__atomic_compare_exchange_n(&turn, &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))) {
		t->cs = 1;
		return;
	}
	while (__atomic_exchange_n(&turn, 2, __ATOMIC_ACQUIRE)) {
		if (raw4(SYS_futex, &turn, FUTEX_WAIT, 2, limit) != -110 /* ETIMEDOUT */)
			continue;
		long_waits++; /* two threads at once may count one: no matter */
		return;
	}
	t->cs = 1;
}

static void release(struct thr *t)
{
	t->cs = 0;
	if (unlikely(__atomic_exchange_n(&turn, 0, __ATOMIC_RELEASE) == 2))
		raw_futex_wake(&turn, 1);
}

void cs_locked(struct thr *t)
{
	if (t->mutexes++ == 0 && !G.serial && long_waits < WAITS_MAX)
		acquire(t);
}

void cs_unlocked(struct thr *t)
{
	/* a mutex from before the second thread was not counted */
	if (t->mutexes && --t->mutexes == 0 && t->cs)
		release(t);
}

void cs_pause(struct thr *t)
{
	if (!t->clean)
		ev(t, RLOG_YIELD, 0, 0, 0);
	release(t);
	t->cs_paused = 1;
}

void cs_resume(struct thr *t)
{
	t->cs_paused = 0;
	if (t->mutexes && long_waits < WAITS_MAX && G.mode == SHIM_RECORD)
		acquire(t);
}

void cs_exit(struct thr *t)
{
	if (t->cs)
		release(t);
}

void cs_fork_child(struct thr *t)
{
	turn = 0;
	t->cs = t->cs_paused = 0;
}
