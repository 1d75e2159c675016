/* SPDX-License-Identifier: MIT */
/*
 * vclock.h: vector clocks, and epochs (Flanagan and Freund, FastTrack, PLDI 2009, section 3): a number for each thread,
 * by its ordinal. What is not set is 0.
 */
#ifndef FRED_RACECHECK_VCLOCK_H
#define FRED_RACECHECK_VCLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialised: empty. */
struct vclock {
	uint64_t *v;
	uint32_t n, cap;
};

/* Thread and its clock in one word, c@t; 0: none. Threads have numbers from 1. */
#define EPOCH_CLOCK_BITS 48
static inline uint64_t epoch_of(uint32_t thread, uint64_t clock)
{
	return (uint64_t)thread << EPOCH_CLOCK_BITS | clock;
}

static inline uint32_t epoch_thread(uint64_t epoch)
{
	return (uint32_t)(epoch >> EPOCH_CLOCK_BITS);
}

static inline uint64_t epoch_clock(uint64_t epoch)
{
	return epoch & ((1ull << EPOCH_CLOCK_BITS) - 1);
}

static inline uint64_t vclock_get(const struct vclock *c, uint32_t thread)
{
	return thread < c->n ? c->v[thread] : 0;
}

/* Does what the epoch says come before what the clock says? */
static inline bool vclock_knows(const struct vclock *c, uint64_t epoch)
{
	return epoch_clock(epoch) <= vclock_get(c, epoch_thread(epoch));
}

void vclock_fini(struct vclock *c);
void vclock_set(struct vclock *c, uint32_t thread, uint64_t clock);
/* The greater of both, thread by thread. Has *to changed? */
bool vclock_join(struct vclock *to, const struct vclock *from);
void vclock_copy(struct vclock *to, const struct vclock *from);

#endif
