/* SPDX-License-Identifier: MIT */
/*
 * chaos.h: recording with --sched chaos: when the turn changes, and who gets it. Under the lock of gil.c, but where it
 * says otherwise. Threads are known by their ordinals.
 */
#ifndef FRED_RECORD_SCHED_CHAOS_H
#define FRED_RECORD_SCHED_CHAOS_H

#include "record/core/state.h"

#include <ucontext.h>

/* An instruction that reads and writes memory, divided there: the payload of RLOG_CALL_SPLIT. */
struct split {
	uint64_t at, bytes; /* what it reads and writes; 0: it is not divided */
	uint64_t value;
};

/*
 * How computations are interrupted between calls: the folder chaos, above this one. start/connect.c fills the table before anything
 * else.
 */
struct chaos_ops {
	void (*begin)(void); /* a process begins, or a serial part of it */
	int (*begin_hot)(uint64_t any_pc); /* chaos/chaos_hot.c says more of these */
	void (*see)(uint64_t pc);
	void (*event)(struct thr *t);
	void (*arm)(struct thr *t);
	int (*holds)(uint32_t ordinal);
	int (*runs)(const struct thr *t); /* a computation of t is stepped */
	void (*look)(struct split *s, const ucontext_t *uc); /* it is interrupted: is the instruction here divided? */
	void (*write)(struct thr *t, struct split *s); /* it has the turn again */
	void (*resumes)(const struct thr *t, ucontext_t *uc); /* and goes on here */
	void (*steps)(struct thr *t, ucontext_t *uc); /* and is back in the program's code */
};
extern struct chaos_ops chaos_ops;

/* ---- chaos.c: what is decided ---- */

void chaos_init(uint64_t seed);
/* Without the lock: t, the owner, has made an event, or is before an acquire. Is a decision due? */
int chaos_due(struct thr *t, int before);
#define CHAOS_CHOICE 64 /* of so many at most */
/*
 * Which of the n threads that wait, by ordinal, is to run: its index. CHAOS_STAY: the owner goes on; CHAOS_NOBODY: nobody
 * does for a while.
 */
#define CHAOS_STAY (CHAOS_CHOICE + 0u)
#define CHAOS_NOBODY (CHAOS_CHOICE + 1u)
uint32_t chaos_choose(uint32_t owner, const uint32_t *waiting, uint32_t n);
uint32_t chaos_yield(const uint32_t *waiting, uint32_t n); /* where it lets others go first */
uint32_t chaos_next(const uint32_t *waiting, uint32_t n); /* the owner waits for something else, or ends */
#define CHAOS_IDLE_NS 10000000l
uint32_t chaos_idled(const uint32_t *waiting, uint32_t n); /* nobody ran for so long, or one has come: as above */
void chaos_spun(uint32_t owner); /* it was interrupted in a computation */
/* Without the lock: t is about to sleep for so long: how many events of others is that? */
void chaos_sleeps(struct thr *t, uint64_t ns);
int chaos_sleeper_due(const struct thr *t); /* what it sleeps is over, by events */
/* Without the lock: what t, at the end of a call, or where it was interrupted (0: not), computes from here on: is it watched? */
int chaos_watches(const struct thr *t, uint64_t interrupted);
int chaos_stops(uint64_t pc); /* it is about to access memory: is it interrupted here? */
uint32_t chaos_random(uint32_t below); /* drawn from the seed */
int chaos_in_text(uint64_t pc); /* of the program itself, not of a library */
void chaos_let_go(uint32_t ordinal); /* it is held no longer */

/* ---- chaos_settle.c ---- */

/*
 * Without the lock, before a decision: waits until all threads but t either wait for the turn or sleep in the kernel, so
 * that who can be chosen does not depend on how long a wake-up takes.
 */
void chaos_settle(const struct thr *t);
void chaos_woke(struct thr *t); /* the same behind an event for which another one may wait */
void chaos_await(const struct thr *c); /* until a new thread waits for the turn */

#endif
