/* SPDX-License-Identifier: MIT */
/*
 * detect.h: data races by happens-before: FastTrack (Flanagan and Freund, PLDI 2009, figures 2, 3 and 5), on accesses
 * of any size and position. Two accesses to the same byte by two threads, one of them a write, are a race if neither
 * thread knew of the other's access when it made its own. Pure: it knows threads by their numbers (from 1), and what
 * made an access by a number of the caller's.
 *
 * Atomic operations order threads, too, but which instructions are atomic is not known beforehand. So each thread's
 * clocks of the past are kept, and where two accesses would race the caller is asked whether both are atomic: then they
 * are no race, and a thread that reads gets the clock that the writing thread had when it wrote.
 */
#ifndef FRED_RACECHECK_DETECT_H
#define FRED_RACECHECK_DETECT_H

#include "racecheck/shadow.h"
#include "racecheck/vclock.h"

struct detect_access {
	uint32_t thread;
	uint64_t clock; /* of that thread: detect_clock() when it was made */
	bool writes;
	uint32_t site, hits; /* the caller's */
	uint64_t addr, len; /* of the earlier one: the bytes that the later one accesses, too */
};

/* What a pair of accesses is that would race. */
enum detect_pair {
	DETECT_RACE,
	DETECT_ATOMIC, /* both are atomic operations */
	DETECT_RELAXED, /* the same, but the later one does not order */
};

struct detect_ops {
	enum detect_pair (*atomic)(void *ctx, const struct detect_access *earlier, const struct detect_access *later);
	void (*race)(void *ctx, const struct detect_access *earlier, const struct detect_access *later);
};

/* What a thread knew from this value of its own clock on. */
struct detect_past {
	uint64_t clock;
	struct vclock knew;
};

struct detect_thread {
	struct vclock now; /* with its own clock; empty: the thread has done nothing */
	struct detect_past *past; /* rising */
	size_t npast, cpast;
};

/*
 * Accesses that change nothing, since the thread has made the same one at the same clock: one word each, made of the
 * address, the length, the direction and the lowest bits of `renewals` at that time.
 */
#define DETECT_RECENT 4096u /* a power of two */
#define DETECT_RENEWALS 4096u /* after this many, all are forgotten */
#define DETECT_ADDR_BITS 47

struct detect {
	const struct detect_ops *ops;
	void *ctx;
	struct shadow shadow;
	struct detect_thread *threads;
	uint32_t nthreads;
	uint64_t checked; /* pieces of memory that were looked at */
	uint32_t last; /* the thread that was asked about last */
	uint64_t renewals; /* how often memory was renewed or freed, a clock advanced, or another thread was examined */
	uint64_t recent[DETECT_RECENT];
};

void detect_init(struct detect *d, const struct detect_ops *ops, void *ctx);
void detect_fini(struct detect *d);

uint64_t detect_clock(struct detect *d, uint32_t thread);
/* What the thread knows now. Valid up to the next call. */
const struct vclock *detect_now(struct detect *d, uint32_t thread);
/* Advances the thread's clock: what it does from now on is later than what it did. To be called after each release. */
void detect_tick(struct detect *d, uint32_t thread);
void detect_acquire(struct detect *d, uint32_t thread, const struct vclock *from);
/* Joins the thread's clock into *to, and advances it. */
void detect_release(struct detect *d, uint32_t thread, struct vclock *to);
/* What the thread knew when its own clock had this value. */
void detect_knew(const struct detect *d, uint32_t thread, uint64_t clock, struct vclock *out);

/* Would detect_access change nothing, since an earlier access at the same clock was no less? Quick. */
bool detect_is_known(struct detect *d, uint32_t thread, uint64_t addr, uint64_t len, bool writes);
void detect_access(struct detect *d, uint32_t thread, uint64_t addr, uint64_t len, bool writes, uint32_t site,
		   uint32_t hits);
/* As a write, but only to bytes that were accessed before: the memory is freed. */
void detect_free(struct detect *d, uint32_t thread, uint64_t addr, uint64_t len, uint32_t site, uint32_t hits);
/* This memory is allocated anew: earlier accesses to it no longer count. */
void detect_renew(struct detect *d, uint64_t addr, uint64_t len);
void detect_renew_all(struct detect *d);

#endif
