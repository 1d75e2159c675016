/* SPDX-License-Identifier: MIT */
/* seccomp_act.c: carries out what a seccomp filter of the program (sys/seccomp.c) has decided about a call. */
#include "record/core/state.h"
#include "record/dispatch/syscall.h"
#include "record/event/turn.h"
#include "record/proc/thread.h"
#include "record/signal/sig.h"
#include "record/sys/sys.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <ucontext.h>

#define FRAMES_BELOW 2048 /* of the function that runs the handler */

/* The program's handler runs at the call, and may set its result. */
static __attribute__((noinline)) long trap(struct thr *t, const struct seccomp_data *d, uint32_t data, ucontext_t *uc)
{
	static const int order[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
	ucontext_t own = {0}, *c = uc ? uc : &own;
	siginfo_t si = {0};

	si.si_signo = SIGSYS;
	si.si_code = 1; /* SYS_SECCOMP */
	si.si_errno = (int)data;
	si.si_call_addr = (void *)d->instruction_pointer;
	si.si_syscall = d->nr;
	si.si_arch = d->arch;
	c->uc_mcontext.gregs[REG_RAX] = d->nr;
	if (!uc) {
		c->uc_mcontext.gregs[REG_RSP] = (greg_t)__builtin_frame_address(0) - FRAMES_BELOW;
		c->uc_mcontext.gregs[REG_RIP] = (greg_t)d->instruction_pointer;
		for (int i = 0; i < 6; i++)
			c->uc_mcontext.gregs[order[i]] = (greg_t)d->args[i];
	}
	if (!sig_call_sync(t, SIGSYS, &si, c))
		sig_die(t, SIGSYS);
	return c->uc_mcontext.gregs[REG_RAX];
}

/* Does the process go on after the end of this thread? */
static int lives_beside(const struct thr *t)
{
	uint64_t st[18] = {0};

	if (G.mode == SHIM_REPLAY)
		return !turn_next_is(t, RLOG_CRASH);
	/* struct stat: nlink is the third word; a folder's counts the folders in it, here one for each thread */
	return G.mt && raw2(SYS_stat, "/proc/self/task", st) == 0 && st[2] > 3;
}

/* Has the kernel do it, by a filter: if it was the first thread, its end can be seen. */
static _Noreturn void kill_thread(struct thr *t)
{
	struct sock_filter kill = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD);
	struct sock_fprog prog = {1, &kill};

	thread_exit_event(t);
	if (G.mode != SHIM_REPLAY)
		raw3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
	for (;;)
		raw1(SYS_exit, SIGSYS);
}

int seccomp_check(struct thr *t, long nr, const long *a, ucontext_t *uc, long *ret)
{
	struct seccomp_data d = {.nr = (int)nr, .arch = AUDIT_ARCH_X86_64, .instruction_pointer = t->caller};
	uint32_t r;

	for (int i = 0; i < 6; i++)
		d.args[i] = (uint64_t)a[i];
	r = seccomp_decide(t->filter, &d);
	switch (r & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
		return 0;
	case SECCOMP_RET_ERRNO:
		*ret = -(long)((r & SECCOMP_RET_DATA) < 4095 ? r & SECCOMP_RET_DATA : 4095);
		return 1;
	case SECCOMP_RET_TRAP:
		*ret = trap(t, &d, r & SECCOMP_RET_DATA, uc);
		return 1;
	case SECCOMP_RET_TRACE:
	case SECCOMP_RET_USER_NOTIF: /* there is no listener */
		*ret = -38;
		return 1;
	case SECCOMP_RET_KILL_THREAD:
		if (t->filter == SECCOMP_STRICT)
			sig_die(t, SIGKILL);
		if (lives_beside(t))
			kill_thread(t);
	}
	sig_die(t, SIGSYS);
}
