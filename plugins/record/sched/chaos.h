/* SPDX-License-Identifier: MIT */
/*
 * chaos.h: recording with --sched chaos: decides when the turn changes and which thread gets it. The caller holds the
 * lock of gil.c unless the comment says otherwise. Threads are named by their ordinals.
 */
#ifndef FRED_RECORD_SCHED_CHAOS_H
#define FRED_RECORD_SCHED_CHAOS_H

#include "record/core/state.h"

#include <ucontext.h>

/*
 * A read-modify-write instruction, between whose read and write other threads run: the payload of RLOG_CALL_SPLIT. See
 * chaos/chaos_split.c.
 */
struct split {
	uint64_t at, bytes; /* address and size of the operand; bytes 0: the instruction is not divided */
	uint64_t value; /* the value that the instruction has read */
};

/*
 * Interruptions between calls: implemented in the folder chaos, above this one; its interrupts.h describes the
 * functions. start/connect.c fills the table before anything else runs.
 */
struct chaos_ops {
	void (*begin)(void); /* step_init(): serial recording begins */
	int (*begin_hot)(uint64_t any_pc); /* hot_init() */
	void (*see)(uint64_t pc); /* hot_see() */
	void (*event)(struct thr *t); /* hot_event() */
	void (*arm)(struct thr *t); /* hot_arm() */
	int (*holds)(uint32_t ordinal); /* hot_holds() */
	int (*runs)(const struct thr *t); /* step_runs() */
	void (*page)(const struct thr *t, const uint8_t *cur); /* hot_page() */
	/*
	 * Called when a thread is interrupted, in this order: before it gives up the turn, when it has the turn again,
	 * before the program goes on.
	 */
	void (*look)(struct split *s, const ucontext_t *uc); /* split_look() */
	void (*write)(struct thr *t, struct split *s); /* split_write() */
	void (*resumes)(const struct thr *t, ucontext_t *uc); /* hot_resumes() */
	void (*steps)(struct thr *t, ucontext_t *uc); /* step_resumes() */
};
extern struct chaos_ops chaos_ops;

/* ---- chaos.c: decisions ---- */

void chaos_init(uint64_t seed);
/*
 * The owner t has made an event, or (before) is about to acquire something. 1: it is time to decide who runs. Called
 * without the lock.
 */
int chaos_due(struct thr *t, int before);
#define CHAOS_CHOICE 64 /* waiting threads to choose from, at most */
/*
 * Choose the thread that runs next. waiting: the ordinals of the n threads that wait. Result: an index into it,
 * CHAOS_STAY (the owner goes on) or CHAOS_NOBODY (no thread runs for CHAOS_IDLE_NS, or until another one comes).
 */
#define CHAOS_STAY (CHAOS_CHOICE + 0u)
#define CHAOS_NOBODY (CHAOS_CHOICE + 1u)
uint32_t chaos_choose(uint32_t owner, const uint32_t *waiting, uint32_t n);
uint32_t chaos_yield(const uint32_t *waiting, uint32_t n); /* the owner has yielded (sched_yield) */
uint32_t chaos_next(const uint32_t *waiting, uint32_t n); /* the owner blocks, or ends */
#define CHAOS_IDLE_NS 10000000l
uint32_t chaos_idled(const uint32_t *waiting, uint32_t n); /* after CHAOS_NOBODY */
void chaos_spun(uint32_t owner); /* the owner was interrupted in a computation: it is held up */
/* t is about to sleep for ns: draws the number of events of other threads until it wakes up. Called without the lock.
 */
void chaos_sleeps(struct thr *t, uint64_t ns);
int chaos_sleeper_due(const struct thr *t); /* that number of events has passed */
/*
 * Is the computation that t begins now stepped? interrupted: the address where t was interrupted; 0: t comes back from
 * a call. Called without the lock.
 */
int chaos_watches(const struct thr *t, uint64_t interrupted);
int chaos_stops(uint64_t pc); /* Is a stepped thread interrupted at pc, where it is about to access memory? */
uint32_t chaos_random(uint32_t below); /* [0, below), from the seed */
int chaos_in_text(uint64_t pc); /* code of the program, not of a library */
void chaos_let_go(uint32_t ordinal); /* the thread is not held up any longer */

/* ---- chaos_settle.c ---- */

/*
 * Before a decision: waits until each thread but t either waits for the turn or sleeps in the kernel. The threads to
 * choose from then do not depend on how long a wake-up takes. These three are called without the lock.
 */
void chaos_settle(const struct thr *t);
void chaos_woke(struct thr *t); /* the same after an event that may have woken another thread */
void chaos_await(const struct thr *c); /* waits until the new thread c waits for the turn */

#endif
