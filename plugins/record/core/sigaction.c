/* SPDX-License-Identifier: MIT */
/* sigaction.c: see sigaction.h: dispositions and masks, the program's and the kernel's. */
#include "record/core/sigaction.h"
#include "record/core/state.h"

#include <ucontext.h>

#define SA_RESTORER_ 0x04000000ul
#define SYNCHRONOUS                                                                                                    \
	(SIG_BIT(SIGSEGV) | SIG_BIT(SIGBUS) | SIG_BIT(SIGFPE) | SIG_BIT(SIGILL) | SIG_BIT(SIGTRAP)) /* sig_is_sync */

struct ksigaction sig_user[65];
struct sig_handlers sig_handlers;

/* GDB knows a signal frame by these very bytes, and only in a function of this name or of none. */
__asm__(".text\n.balign 16\n.hidden __restore_rt\n.globl __restore_rt\n.type __restore_rt, @function\n__restore_rt:\n"
	"	mov $15, %rax\n"
	"	syscall\n"
	".size __restore_rt, .-__restore_rt\n");

uint64_t sig_never_blocked(void)
{
	return SIG_OURS | SIG_BIT(SIGSEGV);
}

static void install(int sig, void (*fn)(int, siginfo_t *, void *), unsigned long flags, uint64_t mask)
{
	unsigned long own = (unsigned long)fn > 1 ? SA_ONSTACK : 0; /* own_stack.h */
	struct ksigaction k = {fn, flags | own | SA_RESTORER_, __restore_rt, mask & ~(SIG_OURS | SIG_BIT(SIGSEGV))};

	raw4(SYS_rt_sigaction, sig, &k, 0, 8);
}

void sig_set_default(int sig)
{
	install(sig, (void *)0, 0, 0);
}

/*
 * What the kernel must do for this signal in this mode. While the handler decides where the program's handler runs,
 * all other signals are blocked: else, of several that come together, the last one's handler would run first, on top
 * of the frames of the others.
 */
void sig_apply(int sig)
{
	const struct ksigaction *u = &sig_user[sig];
	unsigned long keep = SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT | SA_NODEFER;

	if (sig == SIGSYS || sig == SIG_PREEMPT)
		return;
	if (sig_is_sync(sig) && (unsigned long)u->handler <= 1) {
		install(sig, sig_handlers.program, SA_SIGINFO, 0);
		return;
	}
	if (G.mode == SHIM_REPLAY && !sig_is_sync(sig))
		return;
	if (sig_has_handler(sig))
		install(sig, sig_handlers.program, SA_SIGINFO | (u->flags & keep), sig_is_sync(sig) ? u->mask : ~0ull);
	else
		install(sig, u->handler, u->flags & keep, u->mask);
}

void sig_need_segv(struct thr *t)
{
	uint64_t segv = SIG_BIT(SIGSEGV), old = 0;

	raw4(SYS_rt_sigprocmask, SIG_UNBLOCK, &segv, &old, 8);
	t->hidden |= old & segv;
	t->trap.mask_set = 1;
}

void sig_show_hidden(const struct thr *t, int blocked)
{
	raw4(SYS_rt_sigprocmask, blocked ? SIG_BLOCK : SIG_UNBLOCK, &t->hidden, 0, 8);
}

void sig_arm_traps(void)
{
	/* in a wait, the handler of another signal is to see the wait, not this handler's frame */
	uint64_t others = G.mode == SHIM_RECORD ? ~SYNCHRONOUS : 0;

	install(SIGSYS, sig_handlers.trap, SA_SIGINFO | SA_NODEFER, 0);
	install(SIG_PREEMPT, sig_handlers.preempt, SA_SIGINFO | SA_RESTART, others);
}

void sig_inherited(uint64_t *ignored, uint64_t *blocked)
{
	struct ksigaction k;

	*ignored = 0;
	for (int sig = 1; sig <= 64; sig++)
		if (raw4(SYS_rt_sigaction, sig, 0, &k, 8) == 0 && k.handler == (void *)1)
			*ignored |= SIG_BIT(sig);
	raw4(SYS_rt_sigprocmask, SIG_BLOCK, 0, blocked, 8);
}

void sig_inherit(uint64_t ignored, uint64_t blocked)
{
	struct ksigaction k = {0};

	for (int sig = 1; sig <= 64; sig++) {
		k.handler = (ignored & SIG_BIT(sig)) ? (void *)1 : (void *)0;
		raw4(SYS_rt_sigaction, sig, &k, 0, 8);
	}
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, 0, 8);
}

void sig_init(void)
{
	uint64_t ours = SIG_OURS;

	for (int sig = 1; sig <= 64; sig++) {
		struct ksigaction k;

		/* dispositions that came through exec: ignored ones */
		if (raw4(SYS_rt_sigaction, sig, 0, &k, 8) == 0)
			sig_user[sig] = k;
	}
	sig_user[SIGSYS].handler = 0;
	raw4(SYS_rt_sigprocmask, SIG_UNBLOCK, &ours, 0, 8);
	sig_need_segv(self);
	for (int sig = 1; sig <= 64; sig++)
		if (sig_is_sync(sig))
			sig_apply(sig);
	sig_arm_traps();
}
