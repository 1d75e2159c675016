/* SPDX-License-Identifier: MIT */
/* trap.c: the SIGSYS handler: a trapped system call; and clone. arm.c says how calls are caught. */
#include "record/chaos/interrupts.h"
#include "record/core/own_stack.h"
#include "record/core/state.h"
#include "record/dispatch/syscall.h"
#include "record/event/arm.h"
#include "record/event/donate.h"
#include "record/event/ev.h"
#include "record/proc/thread.h"
#include "record/signal/sig.h"
#include "record/start/start.h"
#include "record/store/log.h"
#include "record/sys/sys.h"

#include <linux/audit.h>
#include <linux/sched.h>
#include <sched.h>
#include <ucontext.h>

/* Does the call send a signal? Which of its arguments are a process and a thread (-1: none). */
static int signal_args(long nr, int *pid, int *tid)
{
	*pid = nr == SYS_tkill ? -1 : 0;
	*tid = nr == SYS_tkill ? 0 : nr == SYS_tgkill || nr == SYS_rt_tgsigqueueinfo ? 1 : -1;
	return nr == SYS_kill || nr == SYS_tkill || nr == SYS_tgkill || nr == SYS_rt_sigqueueinfo ||
	       nr == SYS_rt_tgsigqueueinfo;
}

/*
 * A function that a debugger calls runs in a copy, which is a process of its own. It is given the program's IDs, and
 * signals that it sends to these go to the copy. 1: *ret is the result.
 */
static int in_a_copy(long nr, const long *a, long *ret)
{
	int shown_tid, pid, tid;
	long b[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};

	if (G.mode != SHIM_OFF || !G.ctl)
		return 0;
	shown_tid = self->ordinal == 1 ? G.shown_pid : self->shown_tid;
	*ret = nr == SYS_getpid ? G.shown_pid : nr == SYS_getppid ? G.shown_ppid : shown_tid;
	if (nr == SYS_getpid || nr == SYS_getppid || nr == SYS_gettid)
		return 1;
	if (!signal_args(nr, &pid, &tid))
		return 0;
	if (pid >= 0 && b[pid] == G.shown_pid)
		b[pid] = raw0(SYS_getpid);
	if (tid >= 0 && b[tid] == shown_tid)
		b[tid] = raw0(SYS_gettid);
	*ret = raw6(nr, b[0], b[1], b[2], b[3], b[4], b[5]);
	return 1;
}

/* A call from inside the recorder, or while nothing is recorded. */
static long run_native(long nr, const long *a, ucontext_t *uc)
{
	long ret;

	if (in_a_copy(nr, a, &ret))
		return ret;
	if (nr == SYS_rt_sigprocmask)
		return sig_procmask_native(a, uc);
	if (nr == SYS_clone3 && G.no_clone3)
		return -38; /* ENOSYS */
	if (nr == SYS_clone3 && ((struct clone_args *)a[0])->stack)
		return clone_thread(nr, a, uc);
	if (nr == SYS_clone && a[1])
		return clone_thread(nr, a, uc);
	if (nr == SYS_futex)
		return turn_futex(self, a);
	/*
	 * attributes of a thread that libc makes: a replay may have neither the right to set them, nor these processors
	 */
	if ((nr == SYS_sched_setscheduler || nr == SYS_sched_setaffinity) && self && self->born.want_tid > 0)
		return 0;
	if (nr == SYS_exit)
		thread_leave(a[0]);
	return raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/*
 * When recording has stopped, the thread's calls are no longer trapped, and it makes this one again. (A handler that
 * the kernel has called since then cannot return in another way: rt_sigreturn needs the kernel's own frame.)
 */
#define SYSCALL_BYTES 2
static int goes_unrecorded(long nr, greg_t *g)
{
	if (G.mode != SHIM_OFF || G.ctl)
		return 0;
	arm_release();
	g[REG_RIP] -= SYSCALL_BYTES;
	g[REG_RAX] = nr;
	return 1;
}

void trap_handler(int sig, siginfo_t *si, void *ucv)
{
	ucontext_t *uc = ucv;
	greg_t *g = uc->uc_mcontext.gregs;
	long a[6] = {g[REG_RDI], g[REG_RSI], g[REG_RDX], g[REG_R10], g[REG_R8], g[REG_R9]};
	long nr = si->si_syscall, ret;
	struct thr *t;

	if (si->si_code <= 0) { /* sent, as by kill() */
		sig_entry(sig, si, uc);
		return;
	}
	t = shim_enter();
	if (!t && goes_unrecorded(nr, g))
		return;
	if (!t) {
		g[REG_RAX] = si->si_arch == AUDIT_ARCH_X86_64 ? run_native(nr, a, uc) : -38;
		return;
	}
	own_stack_enter(t, uc);
	t->caller = (uint64_t)g[REG_RIP];
	if (unlikely(G.chaos))
		step_cancel(uc);
	t->trap.in = 1;
	if (G.mode == SHIM_RECORD)
		traps_count(t->caller, nr);
	t->trap.mask_set = 0;
	t->trap.over = t->trap.left = 0;
	ret = si->si_arch == AUDIT_ARCH_X86_64 ? sys_event(t, nr, a, uc) : sys_refuse_32bit(t, nr);
	if (!self->trap.left)
		g[REG_RAX] = ret;
	self->trap.over = 1;
	/* a fork child has another struct thr */
	shim_leave(self);
	self->trap.in = 0;
	if (unlikely(self->trap.mask_set))
		raw4(SYS_rt_sigprocmask, SIG_BLOCK, 0, &uc->uc_sigmask, 8);
	if (unlikely(G.chaos) && self->made_event)
		step_begin(self, uc);
}
