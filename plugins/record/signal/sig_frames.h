/* SPDX-License-Identifier: MIT */
/* sig_frames.h: frames of the program's handlers on its stacks, and calling a handler there. */
#ifndef FRED_RECORD_SIG_FRAMES_H
#define FRED_RECORD_SIG_FRAMES_H

#include "record/core/sigaction.h"
#include "record/core/state.h"

#include <ucontext.h>

/*
 * What a handler gets; its stack begins below. In a trap, and where a computation was interrupted, this is right below
 * what the program has on its stack. In a wrapper it is well below the recorder's frames, which differ between
 * recording and replay.
 */
struct handler_frame {
	siginfo_t info;
	ucontext_t uc;
};

static inline uint64_t frame_at(uint64_t sp)
{
	return (sp - sizeof(struct handler_frame)) & ~63ull;
}

/* Which signals are blocked while a handler runs: as the program sees it, and in fact. */
static inline uint64_t handler_blocks(int sig, const struct ksigaction *act)
{
	return act->mask | ((act->flags & SA_NODEFER) ? 0 : SIG_BIT(sig));
}

static inline uint64_t handler_mask(int sig, const struct ksigaction *act)
{
	return handler_blocks(sig, act) & ~sig_never_blocked();
}

/*
 * Parts of the functions that call a handler on another stack (in assembler). slot: see own_stack.h. The handler sees
 * only these of the recorder's registers, since what it saves on its stack must be the same in a replay.
 */
#define SAVE(reg, at) "	push %" #reg "\n	.cfi_adjust_cfa_offset 8\n	.cfi_offset " #reg ", -" #at "\n"
#define SAVE_ALL SAVE(rbp, 16) SAVE(rbx, 24) SAVE(r12, 32) SAVE(r13, 40) SAVE(r14, 48) SAVE(r15, 56)
#define CFA_BY_SLOT                                                                                                    \
	"	.cfi_escape 0x0f, 5, 0x76, 0, 0x06, 0x23, 56\n" /* def_cfa_expression: breg6 0, deref, plus_uconst 56  \
								 */
#define WIPE_SAVED                                                                                                     \
	"	xor %ebx, %ebx\n	xor %r12d, %r12d\n	xor %r13d, %r13d\n	xor %r14d, %r14d\n	xor "                              \
	"%r15d, %r15d\n"
#define RESTORE_ALL                                                                                                    \
	"	mov (%rbp), %rsp\n	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop "                                         \
	"%rbx\n	pop %rbp\n"

#endif
