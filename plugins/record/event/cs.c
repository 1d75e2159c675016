/* SPDX-License-Identifier: MIT */
/*
 * cs.c: the critical-section turn of a parallel recording: threads that hold a mutex run one at a time.
 *
 * Why. A program that locks correctly may still read, under one lock, data that was written under another (the merge
 * tree of sort does). Sooner or later the reader sees the write, and no log of lock operations says when. So a thread
 * that holds any mutex also holds this turn. It gives the turn up when it unlocks its last mutex, and around a call
 * that may wait; if its last record has no stamp, a YIELD record comes first. Code outside of locks, where the work is
 * done, stays parallel. gil.c does the same for all code.
 *
 * A program that holds a mutex for a long time would become slow. After CS_WAITS_MAX waits that lasted WAIT_MAX_NS
 * each, the turn is not used any more.
 *
 * The turn also makes stamps cheap (stamp_next() in cs.h). A replay orders slots by the stamps of their last records.
 * For that order to be right, the stamp of a release must
 *
 *   (1) be taken before any other thread can see the release, and
 *   (2) be higher than the stamps of all releases, by any thread, that the releasing thread has seen before.
 *
 * A plain rdtsc guarantees (1): it retires before a later store becomes visible. It does not guarantee (2), because the
 * processor may execute it before an earlier acquire has completed. A fence before rdtsc would, but costs more than the
 * rest of a lock together.
 *
 * With the turn held, (2) holds without a fence. Let thread T hold the turn, and let all that it has acquired since its
 * last stamp be mutexes (t->fence is 0). Each of these mutexes was released in one of two ways:
 *
 *   - By a thread that held the turn. cs.stamp is then at least the stamp of that release: the releasing thread updates
 *     cs.stamp before it gives up the turn, and gives up the turn before it unlocks the mutex.
 *   - By a thread without the turn: the mutex was locked before the program had two threads, or in a signal handler
 *     during a wait, or after a wait of WAIT_MAX_NS. cs.outside is then at least the stamp of that release.
 *
 * Both variables were written before the mutex became free, and T reads them after it has acquired the mutex. So a
 * stamp that is higher than both, and than T's last one, satisfies (2); stamp_next() takes the highest of rdtsc and
 * these, plus one. The result is never later than the clock: handing over a lock takes longer than one tick. A stamp
 * taken later with a fence is therefore higher.
 *
 * Every other acquire, that is every record without a stamp, sets t->fence, and the next stamp is then taken with a
 * fence.
 */
#include "record/event/cs.h"
#include "record/core/state.h"

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
		cs.long_waits++; /* if two threads do this at once, one wait may not be counted, which does no harm */
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

	while (old < t->last_stamp &&
	       !__atomic_compare_exchange_n(&cs.outside, &old, t->last_stamp, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
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
