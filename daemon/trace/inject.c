/* SPDX-License-Identifier: MIT */
/*
 * inject.c: system calls that the target makes on our behalf.
 *
 * The thread is stepped over an existing `syscall` instruction. orig_rax is -1 meanwhile, so that
 * the kernel does not take the injected call for the interrupted one; with the registers put back,
 * the kernel's own restart logic (arch_do_signal_or_restart) goes on with the interrupted call.
 */
#include "trace/internal.h"
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define KERNEL_SIGSET_BYTES 8

/* All but SIGTRAP: a forced SIGTRAP that is blocked would lose its handler. */
static int begin(struct trace *t, uint64_t gadget, long nr, const uint64_t a[6], struct trace_injection *in,
		 struct err *e)
{
	uint64_t block = ~(1ull << (SIGTRAP - 1));
	struct user_regs_struct r;

	if (trace_get_regs(t, &in->saved, e))
		return -1;
	in->dr7 = t->dr7;
	if (ptrace(PTRACE_GETSIGMASK, t->tid, KERNEL_SIGSET_BYTES, &in->mask) ||
	    ptrace(PTRACE_SETSIGMASK, t->tid, KERNEL_SIGSET_BYTES, &block))
		return err_errno(e, trace_why_failed(), "signal mask of thread %d", (int)t->tid);
	r = in->saved;
	r.rip = gadget;
	r.rax = (unsigned long long)nr;
	r.orig_rax = (unsigned long long)-1;
	r.rdi = a[0];
	r.rsi = a[1];
	r.rdx = a[2];
	r.r10 = a[3];
	r.r8 = a[4];
	r.r9 = a[5];
	r.eflags &= ~0x100ull; /* TF */
	in->call = r;
	return trace_set_regs(t, &r, e);
}

int trace_put_back(struct trace *t, const struct trace_injection *in, struct err *e)
{
	if (ptrace(PTRACE_SETSIGMASK, t->tid, KERNEL_SIGSET_BYTES, &in->mask))
		return err_errno(e, trace_why_failed(), "signal mask of thread %d", (int)t->tid);
	return trace_set_regs(t, &in->saved, e);
}

/* Steps until the instruction is done. A fork event on the way gives *child. */
static int step_over(struct trace *t, pid_t *child, struct err *e)
{
	unsigned long msg = 0;
	int status, event;

	for (;;) {
		if (ptrace(PTRACE_SINGLESTEP, t->tid, 0, 0) && errno != ESRCH)
			return err_errno(e, trace_why_failed(), "step thread %d", (int)t->tid);
		if (trace_wait(t, 0, &status, e) < 0)
			return -1;
		if (!WIFSTOPPED(status)) {
			t->alive = false;
			if (trace_was_killed(t, status, e))
				return -1;
			return err_set(e, ERR_INTERNAL, "process %d ended in an injected call", (int)t->pid);
		}
		event = status >> 16;
		if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_CLONE) {
			if (ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &msg))
				return err_errno(e, trace_why_failed(), "PTRACE_GETEVENTMSG");
			*child = (pid_t)msg;
		} else if (event == PTRACE_EVENT_STOP) {
			t->stale_interrupt = false;
		} else if (!event) {
			break;
		}
	}
	if (WSTOPSIG(status) != SIGTRAP)
		return err_set(e, ERR_INTERNAL, "signal %d in an injected call", WSTOPSIG(status));
	return trace_poke_debug(t, 6, 0, e);
}

/*
 * A pending interrupt makes clone return before it does anything (copy_process, ERESTARTNOINTR):
 * the instruction is then still to be executed.
 */
static int execute(struct trace *t, uint64_t gadget, const struct user_regs_struct *call, int64_t *ret, pid_t *child,
		   struct err *e)
{
	struct user_regs_struct r;

	for (unsigned tries = 0; tries < 100; tries++) {
		if (step_over(t, child, e) || trace_get_regs(t, &r, e))
			return -1;
		*ret = (int64_t)r.rax;
		if (r.rip == gadget + 2 && !trace_wants_restart(*ret))
			return 0;
		if (r.rip != gadget && r.rip != gadget + 2)
			return err_set(e, ERR_INTERNAL, "no syscall instruction at 0x%" PRIx64, gadget);
		if (trace_set_regs(t, call, e))
			return -1;
	}
	return err_set(e, ERR_INTERNAL, "interrupted too many times");
}

int trace_inject(struct trace *t, uint64_t gadget, long nr, const uint64_t a[6], struct trace_injection *in,
		 int64_t *ret, pid_t *child, struct err *e)
{
	struct err ignored;
	int r;

	if (!t->alive)
		return err_set(e, ERR_INTERNAL, "thread %d is not held", (int)t->tid);
	if (begin(t, gadget, nr, a, in, e))
		return -1;
	r = trace_clear_all(t, e) || execute(t, gadget, &in->call, ret, child, e) ? -1 : 0;
	if (t->alive && trace_put_back(t, in, r ? &ignored : e))
		r = -1;
	if (!r && in->dr7)
		r = trace_poke_debug(t, 7, in->dr7, e);
	t->dr7 = in->dr7;
	return r ? err_wrap(e, "inject system call %ld", nr) : 0;
}

int trace_syscall(struct trace *t, uint64_t gadget, long nr, const uint64_t args[6], int64_t *ret, struct err *e)
{
	struct trace_injection in;
	pid_t child;

	return trace_inject(t, gadget, nr, args, &in, ret, &child, e);
}

int trace_end_with_parent(struct trace *t, uint64_t gadget, struct err *e)
{
	const uint64_t args[6] = {PR_SET_PDEATHSIG, SIGKILL};
	uint64_t unused;

	return trace_call(t, gadget, "prctl(PR_SET_PDEATHSIG)", SYS_prctl, args, &unused, e);
}

int trace_copy_range(pid_t pid, uint64_t from, uint64_t to, uint64_t len, struct err *e)
{
	const uint64_t page = 4096;
	char buf[65536];
	struct err ignored;

	for (uint64_t o = 0; o < len; o += sizeof(buf)) {
		uint64_t n = len - o < sizeof(buf) ? len - o : sizeof(buf);

		if (!trace_read(pid, from + o, buf, n, &ignored)) {
			if (trace_write(pid, to + o, buf, n, e))
				return -1;
			continue;
		}
		for (uint64_t p = o; p < o + n; p += page)
			if (!trace_read(pid, from + p, buf, page, &ignored) && trace_write(pid, to + p, buf, page, e))
				return -1;
	}
	return 0;
}

int trace_call(struct trace *t, uint64_t gadget, const char *what, long nr, const uint64_t a[6], uint64_t *result,
	       struct err *e)
{
	int64_t ret;

	if (trace_syscall(t, gadget, nr, a, &ret, e))
		return -1;
	if (ret < 0 && ret > -4096) {
		errno = (int)-ret;
		return err_errno(e, trace_why_failed(), "%s in process %d", what, (int)t->pid);
	}
	*result = (uint64_t)ret;
	return 0;
}

/* The kernel writes it to the stack, below what the thread uses. */
int trace_find_alt_stack(struct trace *t, uint64_t gadget, struct err *e)
{
	struct user_regs_struct r;
	uint64_t at, unused;
	stack_t was, ss;

	if (trace_get_regs(t, &r, e))
		return -1;
	at = (r.rsp - TRACE_RED_ZONE - sizeof(ss)) & ~15ull;
	if (trace_read(t->pid, at, &was, sizeof(was), e))
		return 0; /* at the end of its stack: it stays unknown */
	if (trace_call(t, gadget, "sigaltstack", SYS_sigaltstack, (const uint64_t[6]){0, at}, &unused, e) ||
	    trace_read(t->pid, at, &ss, sizeof(ss), e) || trace_write(t->pid, at, &was, sizeof(was), e))
		return -1;
	/* if there is none, both are 0 */
	t->alt_lo = (uint64_t)ss.ss_sp;
	t->alt_end = t->alt_lo + ss.ss_size;
	return 0;
}
