/* SPDX-License-Identifier: MIT */
/*
 * own_stack.h: the stack on which the recorder's signal handlers run, one for each thread, so that the handlers need no
 * room on the program's stacks, however small those are. To the kernel, this is the thread's alternate signal stack;
 * the one that the program has set (sigaltstack(2)) is noted here, and used for the program's handlers.
 *
 * It is registered with SS_AUTODISARM: while the recorder runs on it, frames of further signals are put below its stack
 * pointer. While a handler of the program runs, on a stack of the program, and will return to frames of the recorder
 * here, only a part beside those frames is registered. A handler may also be left by longjmp, of which the recorder is
 * not told: when little room is left, the frames of such handlers are forgotten, and their room is used again.
 */
#ifndef FRED_RECORD_OWN_STACK_H
#define FRED_RECORD_OWN_STACK_H

#include "record/core/state.h"

#include <ucontext.h>

#define RED_ZONE 128u /* bytes below the stack pointer that are a function's, too */

void own_stack_map(struct thr *t); /* for a thread that may not exist yet */
void own_stack_use(const struct thr *t); /* for the calling thread, which is t */
void own_stack_free(const struct thr *t);
/*
 * Bytes at the end of this stack, all 0 at first, for what the thread is to do when handlers return:
 * signal/sig_handlers.c.
 */
#define OWN_STACK_SETS 16384u
void *own_stack_sets(const struct thr *t);

/*
 * The end of a part of the stack that no signal handler uses. A thread starts and ends there, and own_stack_call() uses
 * it.
 */
uint64_t own_stack_steps(const struct thr *t);
/*
 * Runs fn in that part, for a wrapper that needs more stack than the program may have. t: the calling thread; fn
 * neither waits for another thread nor lets a handler of the program's run.
 */
void own_stack_call(const struct thr *t, void (*fn)(void *), void *arg);
int own_stack_has(const struct thr *t, const void *p);
/* Bytes of the floating-point state in a signal's frame (struct _fpx_sw_bytes, asm/sigcontext.h); 0 for NULL. */
uint64_t fp_state_bytes(const void *fp);
/* The program's stack pointer, where the recorder at `here` was called by a signal; 0: it was called as a function. */
uint64_t own_stack_program_sp(const struct thr *t, const void *here);
/* Replay: if t->stand describes a place on this stack, it is changed to the program's registers and stack. */
void own_stack_stand(struct thr *t);
/*
 * Begins a signal handler of the recorder's on this stack. uc: what it interrupted, the program or a wrapper in its
 * call.
 */
void own_stack_enter(struct thr *t, ucontext_t *uc);
/* Around a handler of the program's. here: the address of a frame of the caller's. */
void own_stack_leave(struct thr *t, const void *here);
void own_stack_back(struct thr *t, const void *here);
/*
 * Where the address of such a frame is kept until the handler has returned, whose stack begins at sp. The handler finds
 * the address of this slot in RBP: it is the same in a replay, unlike the address of the frame.
 */
uint64_t *own_stack_slot(const struct thr *t, uint64_t sp);
void own_stack_slot_done(uint64_t *slot);

/* ---- the program's alternate signal stack ---- */

/* The end of the program's alternate stack, if a signal that comes while the stack pointer is sp uses it; else 0. */
uint64_t program_stack_end(const struct thr *t, uint64_t sp);
int program_stack_has(const struct thr *t, uint64_t sp); /* is sp on it? As in the kernel, not with SS_AUTODISARM */
long program_stack_set(struct thr *t, const stack_t *set, stack_t *old, uint64_t sp); /* sigaltstack(2), or -errno */
/*
 * save: before a handler: stores what its ucontext shows, as the kernel does. restore: after it has returned from `sp`:
 * sets what the kernel would set.
 */
void program_stack_save(struct thr *t, stack_t *to);
void program_stack_restore(struct thr *t, const stack_t *from, uint64_t sp);

#endif
