/* SPDX-License-Identifier: MIT */
/* sig_state.c: the interrupted state that a handler of an asynchronous signal finds, and may change. */
#include "record/core/own_stack.h"
#include "record/core/state.h"
#include "record/signal/sig.h"
#include "record/store/log.h"

#include <errno.h>
#include <string.h>
#include <ucontext.h>

#define FLAG_TRAP 0x100
#define FLAG_RESUME 0x10000

/* See sig.h. */
ucontext_t *sig_own_call(const struct thr *t, const void *here)
{
	return t->trap.in && own_stack_has(t, here) ? t->stack.uc : 0;
}

/*
 * Shows a handler the interrupted state, the same in both modes. If libc made the call, it is the place of that call.
 * As with the kernel, a call that is interrupted has failed already, or is about to be made again.
 */
void sig_show_state(const struct thr *t, int restarts, const ucontext_t *call, greg_t *g)
{
	if (!call) {
		g[REG_RIP] = (greg_t)t->caller;
		return;
	}
	__builtin_memcpy(g, call->uc_mcontext.gregs, sizeof(call->uc_mcontext.gregs));
	/* `syscall` leaves these in rcx and r11 (Intel's manual); what a debugger's steps and earlier faults leave is
	 * not the program's */
	g[REG_EFL] &= ~(greg_t)(FLAG_TRAP | FLAG_RESUME);
	g[REG_RCX] = g[REG_RIP];
	g[REG_R11] = g[REG_EFL];
	g[REG_ERR] = g[REG_TRAPNO] = g[REG_CR2] = g[REG_OLDMASK] = 0;
	if (t->trap.over)
		return;
	if (restarts)
		g[REG_RIP] -= 2;
	else
		g[REG_RAX] = -EINTR;
}

/*
 * The handler has changed where the program goes on, or the registers there: the call is over. uc: the kernel's
 * context, if there is one
 */
void sig_take_state(struct thr *t, int restarts, ucontext_t *call, const ucontext_t *now, ucontext_t *uc)
{
	const greg_t *g = now->uc_mcontext.gregs;
	greg_t *kernel = uc ? uc->uc_mcontext.gregs : 0;
	gregset_t shown;

	sig_show_state(t, restarts, call, shown);
	if (call ? !memcmp(shown, g, sizeof(shown)) : g[REG_RIP] == shown[REG_RIP])
		return;
	if (!call) {
		if (G.mode == SHIM_RECORD)
			note(RLOG_NOTE_UNSUPPORTED, 0,
			     "a handler that changes where an interrupted call of a library returns");
		return;
	}
	for (int i = REG_R8; i <= REG_EFL; i++)
		if (g[i] != shown[i])
			call->uc_mcontext.gregs[i] = g[i];
	if (g[REG_RAX] != shown[REG_RAX])
		t->trap.left = 1; /* otherwise the call's result is returned */
	call->uc_mcontext.gregs[REG_RAX] = g[REG_RAX];
	t->trap.over = 1; /* the next handler finds this state unchanged */
	/* the call is not made again; in a replay it would not be either */
	if (kernel && *(const uint16_t *)kernel[REG_RIP] == 0x050f) {
		kernel[REG_RIP] += 2;
		kernel[REG_RAX] = -EINTR;
	}
}
