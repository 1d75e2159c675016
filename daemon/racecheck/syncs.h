/* SPDX-License-Identifier: MIT */
/*
 * syncs.h: what the recorded synchronisation says of the order of threads: from events about objects (rlog/events.def)
 * to what threads know of each other (detect.h). Pure.
 *
 * mutex, spin lock, FILE that the program locks: a lock comes after all that was done before the last unlock. rwlock: a
 * writer comes after the readers and writers before it, a reader after the writers. cond: its mutex alone. semaphore: a
 * wait comes after all posts so far. barrier: leaving it comes after all arrivals of this round. once, and C++'s static
 * variables: finding it done comes after the routine. create comes before start, exit before join. Library locks of the
 * recorder (LIB_LOCK) are none of the program's locks, and order nothing but what libc calls back under them: that
 * comes after what was called back under the same lock before.
 */
#ifndef FRED_RACECHECK_SYNCS_H
#define FRED_RACECHECK_SYNCS_H

#include "base/table.h"
#include "racecheck/detect.h"

struct sync_object {
	uint64_t key; /* its number and space */
	struct vclock clock, readers;
	uint32_t writer; /* of a rwlock: the thread that has it for writing */
	uint32_t round; /* of a barrier: the number of the round at which threads arrive */
};

/* A round of a barrier: what the threads know that leave it. */
struct sync_round {
	struct vclock clock;
	bool over; /* a thread has left it: no other arrives at it */
};

#define SYNC_LIBRARY_LOCKS 8
/* What a thread is doing. */
struct sync_thread {
	struct {
		uint64_t object;
		bool called; /* the program's code, while the thread has had it */
	} library[SYNC_LIBRARY_LOCKS]; /* libc's locks that it holds; the first ones, if there are more */
	unsigned libraries;
	uint64_t mutex; /* to be locked after a wait for a condition */
	uint32_t round; /* of a barrier */
	struct vclock born, died;
	bool dead, joined;
};

struct syncs {
	struct detect *d; /* borrowed */
	struct table objects; /* of struct sync_object */
	struct sync_round *rounds; /* number 0 is none */
	uint32_t nrounds;
	struct sync_thread *threads;
	uint32_t nthreads;
};

void syncs_init(struct syncs *s, struct detect *d);
void syncs_fini(struct syncs *s);

/*
 * An event of a thread: kind is enum rlog_kind; object and value as in an entry SYNC of rlog/report.h. Kinds that order
 * nothing are fine.
 */
void syncs_event(struct syncs *s, uint32_t thread, unsigned kind, uint64_t object, int64_t value);

/* A function of libc calls one of the program's. */
void syncs_calls_back(struct syncs *s, uint32_t thread);
/* A block at this address is freed: if it was a FILE, its lock is another one from now on. */
void syncs_freed(struct syncs *s, uint64_t addr);

/* Objects other than pthread's have numbers in spaces of their own, other than 0. */
enum sync_space { SYNC_OBJECT = 0, SYNC_FD, SYNC_SIGNAL, SYNC_FUTEX, SYNC_LIBRARY };
void syncs_acquire(struct syncs *s, uint32_t thread, enum sync_space space, uint64_t number);
void syncs_release(struct syncs *s, uint32_t thread, enum sync_space space, uint64_t number);

#endif
