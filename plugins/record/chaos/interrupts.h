/* SPDX-License-Identifier: MIT */
/* interrupts.h: recording with --sched chaos: threads are interrupted between their calls. sched/chaos.h has what is decided. */
#ifndef FRED_RECORD_CHAOS_INTERRUPTS_H
#define FRED_RECORD_CHAOS_INTERRUPTS_H

#include "record/core/state.h"
#include "record/sched/chaos.h"

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

int split_changes(unsigned op, unsigned middle); /* opcodes of one byte that read and write memory; middle: of ModRM */
void split_look(struct split *s, const ucontext_t *uc); /* it is interrupted here */
void split_write(struct thr *t, struct split *s); /* it has the turn again, and goes on */

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
