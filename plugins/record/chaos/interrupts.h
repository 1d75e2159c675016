/* SPDX-License-Identifier: MIT */
/*
 * interrupts.h: recording with --sched chaos: interrupting threads between their calls. sched/chaos.h has the
 * decisions.
 */
#ifndef FRED_RECORD_CHAOS_INTERRUPTS_H
#define FRED_RECORD_CHAOS_INTERRUPTS_H

#include "record/core/state.h"
#include "record/sched/chaos.h"

/* ---- chaos_step.c: interrupts a computation at an instruction ---- */

void step_init(void);
/*
 * A call that made an event ends: may begin to step the computation that follows. uc: the trap's context; NULL: this is
 * a wrapper.
 */
void step_begin(struct thr *t, ucontext_t *uc);
void step_resumes(struct thr *t, ucontext_t *uc); /* the same where t goes on after a PREEMPT */
int step_runs(const struct thr *t); /* is t being stepped, which takes time? */
void step_cancel(ucontext_t *uc); /* a system call was trapped: the computation is over */
int step_trap(siginfo_t *si, ucontext_t *uc); /* 1: this SIGTRAP was a step */
uint64_t step_address(const ucontext_t *uc,
		      uint64_t pc); /* the address that the instruction at pc accesses; 0: none, or thread-local */
int step_is_shared(const ucontext_t *uc, uint64_t a); /* 1: a is not on the thread's own stack, as far as can be told */
/* May t be interrupted now? Not while it holds a lock of libc (nheld), of which there are no events, nor in a signal
 * handler. */
int step_lets_in(const struct thr *t);

/* ---- chaos_split.c: divides an instruction that reads and writes ---- */

int split_changes(unsigned op, unsigned middle); /* a one-byte opcode that reads and writes memory? middle: ModRM.reg */
void split_look(struct split *s,
		const ucontext_t *uc); /* the thread is interrupted at uc: reads the operand, if it divides */
void split_write(struct thr *t, struct split *s); /* t has the turn again: puts the operand back and logs that */

/* ---- chaos_hot.c: makes threads meet at one variable ---- */

int hot_init(uint64_t any_pc); /* any_pc: an address of code; 0: not in this run. Gives 0 if it is off */
/* The program reaches pc, back from a call or in a new thread: accesses of memory from there on become candidates. */
void hot_see(uint64_t pc);
void hot_event(struct thr *t); /* the owner t has made an event, or is about to acquire something */
void hot_arm(struct thr *t); /* t has got the turn: sets its breakpoints */
/* t has logged what is in a page, and its log was at cur before. A replay has it since the event before, and counts
 * passes from there on. */
void hot_page(const struct thr *t, const uint8_t *cur);
int hot_trap(const siginfo_t *si, ucontext_t *uc); /* 1: this SIGTRAP was such a breakpoint */
/*
 * t goes on at uc after a PREEMPT. A breakpoint there is hit once more and counts as the first pass, as in a replay,
 * where a debugger's breakpoint at the same address must be hit too (seek_found).
 */
void hot_resumes(const struct thr *t, ucontext_t *uc);
int hot_holds(
	uint32_t ordinal); /* the interrupted thread is held until another one is about to access the same variable */

#endif
