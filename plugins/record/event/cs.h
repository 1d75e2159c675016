/* SPDX-License-Identifier: MIT */
/* cs.h: the part of cs.c that a lock and an unlock run through, inline. */
#ifndef FRED_RECORD_CS_H
#define FRED_RECORD_CS_H

#include "record/core/state.h"
#include "record/store/log.h"

#define CS_WAITS_MAX 8

struct cs {
	uint32_t turn; /* futex: 0 free, 1 taken, 2 taken and waited for */
	int long_waits;
	uint64_t stamp; /* the highest stamp taken with the turn; read and written with the turn only */
	uint64_t outside; /* the highest stamp of a release of a mutex without the turn */
} __attribute__((aligned(64)));
extern struct cs cs;

void cs_acquire(struct thr *t);
void cs_release(struct thr *t);
void cs_outside(struct thr *t); /* t releases a mutex without the turn, after the record of that */
void cs_resume(struct thr *t); /* after a call that may have waited: sched/wait.h */
void cs_exit(struct thr *t);
void cs_fork_child(struct thr *t);

/*
 * How to wait for a lock that is soon released: poll before sleeping in the kernel, which costs more than most
 * critical sections. Each look takes the cache line away from the owner, and a thread that gets a busy lock at once
 * makes its former owner wait in turn: so the pauses grow.
 */
#define SPIN_LOOKS 9
static inline void spin_pause(unsigned look) /* from 0 */
{
	for (unsigned i = 8u << (look < 3 ? look : 3); i; i--)
		__builtin_ia32_pause();
}

static inline void cs_locked(struct thr *t) /* t has taken a mutex */
{
	if (t->mutexes++ == 0 && !G.serial && cs.long_waits < CS_WAITS_MAX)
		cs_acquire(t);
}

static inline void cs_unlocked(struct thr *t) /* to be called after the stamped record of the release */
{
	/* a mutex that was locked before there was a second thread was not counted */
	if (t->mutexes)
		t->mutexes--;
	if (likely(t->cs)) {
		if (!t->mutexes)
			cs_release(t);
	} else if (!G.serial) {
		cs_outside(t);
	}
}

/* The stamp of t's next record, not written yet: see cs.c. */
static inline uint64_t stamp_next(struct thr *t)
{
	uint32_t lo, hi;
	uint64_t now;

	if (unlikely(!t->cs || t->fence || G.serial || G.counted)) {
		t->fence = 0;
		return stamp_now();
	}
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi)::"memory");
	now = (uint64_t)hi << 32 | lo;
	/* branches are predicted, whereas the instructions after a maximum would have to wait for it */
	if (unlikely(now <= cs.stamp))
		now = cs.stamp + 1;
	if (unlikely(now <= cs.outside))
		now = cs.outside + 1;
	if (unlikely(now <= t->last_stamp))
		now = t->last_stamp + 1;
	return now;
}

#endif
