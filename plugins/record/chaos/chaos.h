/* SPDX-License-Identifier: MIT */
/*
 * chaos.h: recording with --sched chaos: when the turn changes, and who gets it. Under the lock of gil.c, but where it
 * says otherwise. Threads are known by their ordinals.
 */
#ifndef FRED_RECORD_CHAOS_H
#define FRED_RECORD_CHAOS_H

#include "record/core/shim.h"

#include <ucontext.h>

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

/* ---- chaos_step.c: interrupts a computation at an instruction ---- */

void step_init(void);
/* At the end of a call that made an event. uc: of the trap that this is in, or NULL. */
void step_begin(struct thr *t, ucontext_t *uc);
void step_resumes(struct thr *t, ucontext_t *uc); /* it goes on here behind a PREEMPT */
int step_runs(const struct thr *t); /* it is stopped at each instruction, and takes its time */
void step_cancel(ucontext_t *uc); /* a trapped call: the computation is over */
int step_trap(siginfo_t *si, ucontext_t *uc); /* 1: this SIGTRAP was a step */
uint64_t step_address(const ucontext_t *uc, uint64_t pc); /* that the instruction at pc accesses; 0: none, or its thread's own */
int step_is_shared(const ucontext_t *uc, uint64_t a); /* that address is not of the thread's stack, as far as can be told */
/* May a computation be interrupted? Not with a lock of libc, which no event tells (nheld), nor inside a handler. */
int step_lets_in(const struct thr *t);

/* ---- chaos_split.c: divides an instruction that reads and writes ---- */

struct split {
	uint64_t at, bytes; /* what it reads and writes; 0: it is not divided */
	uint64_t value;
};
int split_changes(unsigned op, unsigned middle); /* opcodes of one byte that read and write memory; middle: of ModRM */
void split_look(struct split *s, const ucontext_t *uc); /* it is interrupted here */
void split_write(struct thr *t, struct split *s); /* it has the turn again, and goes on */
void split_replay(struct thr *t); /* the same: if it was done */

/* ---- chaos_hot.c: makes threads meet at one variable ---- */

int hot_init(uint64_t any_pc); /* for this run, with some address of code; 0: not in this one. 0: it is off, or cannot be */
/* The program comes here, back from a call or in a new thread: what is accessed from there on may be chosen. */
void hot_see(uint64_t pc);
void hot_event(struct thr *t); /* the owner of the turn has made one, or is before an acquire */
void hot_arm(struct thr *t); /* it has got the turn */
int hot_trap(const siginfo_t *si, ucontext_t *uc); /* 1: this SIGTRAP was such a breakpoint */
/*
 * It goes on here behind a PREEMPT. The breakpoint here, if there is one, is met again and counts as the first pass, as in a
 * replay, where a debugger's breakpoint has to be met too (seek_found).
 */
void hot_resumes(const struct thr *t, ucontext_t *uc);
int hot_holds(uint32_t ordinal); /* the one that is interrupted: until another one is about to access the same */

#endif
