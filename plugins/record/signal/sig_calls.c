/* SPDX-License-Identifier: MIT */
/* sig_calls.c: rt_sigaction and rt_sigprocmask: what the program asks for, and what the kernel is told. */
#include "record/core/held.h"
#include "record/core/memory.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/shm/group.h"
#include "record/signal/sig.h"

#include <ucontext.h>

long sig_action(const long *a)
{
	int sig = (int)a[0];
	const struct ksigaction *act = (const void *)a[1];
	struct ksigaction *old = (void *)a[2], was, asked;

	if (sig < 1 || sig > 64 || a[3] != 8 || ((sig == SIGKILL || sig == SIGSTOP) && act))
		return -22;
	if (act && !sys_readable(act, sizeof(*act)))
		return -14; /* EFAULT */
	was = sig_action_of(sig);
	if (act) {
		asked = *act;
		sig_action_set(sig, &asked);
	}
	return old ? sys_put(old, &was, sizeof(was)) : 0;
}

static void hide(struct thr *t, int how, uint64_t set)
{
	if (how == SIG_BLOCK)
		t->hidden |= set & sig_never_blocked();
	else if (how == SIG_UNBLOCK)
		t->hidden &= ~set;
	else
		t->hidden = set & sig_never_blocked();
}

long sig_procmask_native(const long *a, ucontext_t *uc)
{
	uint64_t want = 0, set = 0, cur = 0, was = self ? self->hidden : 0;
	long r;

	if (a[1] && a[3] == 8 && !sys_readable((const void *)a[1], 8))
		return -14; /* EFAULT */
	if (a[1] && a[3] == 8) {
		want = *(const uint64_t *)a[1];
		set = a[0] == SIG_UNBLOCK ? want : want & ~sig_never_blocked();
	}
	r = raw4(SYS_rt_sigprocmask, a[0], a[1] ? &set : 0, a[2], a[3]);
	if (r == 0 && a[2])
		*(uint64_t *)a[2] |= was;
	if (r == 0 && a[1] && self)
		hide(self, (int)a[0], want);
	if (self)
		held_release(self);
	if (r == 0 && uc && raw4(SYS_rt_sigprocmask, SIG_BLOCK, 0, &cur, 8) == 0)
		__builtin_memcpy(&uc->uc_sigmask, &cur, 8); /* the handler's return sets it */
	return r;
}
