/* SPDX-License-Identifier: MIT */
/* sigaction.c: see sigaction.h: dispositions and masks, the program's and the kernel's. */
#include "record/core/sigaction.h"
#include "record/core/state.h"

#include <ucontext.h>

#define SA_RESTORER_ 0x04000000ul
#define SYNCHRONOUS                                                                                                    \
	(SIG_BIT(SIGSEGV) | SIG_BIT(SIGBUS) | SIG_BIT(SIGFPE) | SIG_BIT(SIGILL) | SIG_BIT(SIGTRAP)) /* sig_is_sync */

/* a process that holds the lock for longer does not run: it is another process, which shares the memory */
#define OWNER_NS 100000000l

/* act[changes % 2] is valid; the other one may be being written. So there is always a valid one. */
static struct {
	uint32_t changes;
	struct ksigaction act[2];
} actions[65];
void (*sig_user_handlers[65])(int, siginfo_t *, void *);
static uint32_t lock; /* of threads that change actions; futex: 0 free, 1 taken, 2 taken and waited for */
struct sig_handlers sig_handlers;

/* GDB recognises a signal frame by these very bytes, and only in a function of this name or of none. */
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

struct ksigaction sig_action_of(int sig)
{
	struct ksigaction act;
	uint32_t n;

	do {
		n = __atomic_load_n(&actions[sig].changes, __ATOMIC_ACQUIRE);
		act = actions[sig].act[n % 2];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&actions[sig].changes, __ATOMIC_RELAXED) != n);
	return act;
}

static void store(int sig, const struct ksigaction *act)
{
	uint32_t n = actions[sig].changes + 1;

	__atomic_thread_fence(__ATOMIC_RELEASE);
	actions[sig].act[n % 2] = *act;
	__atomic_store_n(&actions[sig].changes, n, __ATOMIC_RELEASE);
	__atomic_store_n(&sig_user_handlers[sig], act->handler, __ATOMIC_RELAXED);
}

/* No handler of the recorder's that runs meanwhile changes an action: they run where the program is, or in a wait. */
static void take_lock(void)
{
	long limit[2] = {0, OWNER_NS};
	uint32_t zero = 0;

	if (__atomic_compare_exchange_n(&lock, &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(&lock, 2, __ATOMIC_ACQUIRE))
		if (raw4(SYS_futex, &lock, FUTEX_WAIT_PRIVATE, 2, limit) == -110 /* ETIMEDOUT */)
			return;
}

static void release_lock(void)
{
	if (__atomic_exchange_n(&lock, 0, __ATOMIC_RELEASE) == 2)
		raw3(SYS_futex, &lock, FUTEX_WAKE_PRIVATE, 1);
}

/*
 * Tells the kernel what it must do for this signal in this mode. While the recorder's handler decides where the
 * program's handler runs, all other signals are blocked. Otherwise, of several that come together, the last one's
 * handler would run first, on top of the frames of the others.
 */
static void apply(int sig, const struct ksigaction *u)
{
	unsigned long keep = SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT | SA_NODEFER;

	if (sig == SIGSYS || sig == SIG_PREEMPT)
		return;
	if (sig_is_sync(sig) && (unsigned long)u->handler <= 1) {
		install(sig, sig_handlers.program, SA_SIGINFO, 0);
		return;
	}
	if (G.mode == SHIM_REPLAY && !sig_is_sync(sig))
		return;
	if (action_has_handler(u))
		install(sig, sig_handlers.program, SA_SIGINFO | (u->flags & keep), sig_is_sync(sig) ? u->mask : ~0ull);
	else
		install(sig, u->handler, u->flags & keep, u->mask);
}

void sig_action_set(int sig, const struct ksigaction *act)
{
	take_lock();
	store(sig, act);
	apply(sig, act);
	release_lock();
}

void sig_action_called(int sig, const struct ksigaction *act)
{
	struct ksigaction now, none = *act;

	if (!(act->flags & SA_RESETHAND))
		return;
	none.handler = (void *)0;
	take_lock();
	now = sig_action_of(sig);
	if (now.handler == act->handler && now.flags == act->flags && now.restorer == act->restorer &&
	    now.mask == act->mask) {
		store(sig, &none);
		apply(sig, &none);
	}
	release_lock();
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
	/* in a wait, the handler of another signal is to find the wait, not this handler's frame */
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
		struct ksigaction k = {0};

		/* dispositions that were inherited through exec: ignored signals */
		if (raw4(SYS_rt_sigaction, sig, 0, &k, 8))
			continue;
		if (sig == SIGSYS)
			k.handler = 0;
		store(sig, &k);
	}
	raw4(SYS_rt_sigprocmask, SIG_UNBLOCK, &ours, 0, 8);
	sig_need_segv(self);
	for (int sig = 1; sig <= 64; sig++) {
		const struct ksigaction k = sig_action_of(sig);

		if (sig_is_sync(sig))
			apply(sig, &k);
	}
	sig_arm_traps();
}
