/* SPDX-License-Identifier: MIT */
/*
 * inject.c: system calls done by the target on our behalf, and forks of it.
 *
 * The thread is stepped over an existing `syscall` instruction. orig_rax is -1 meanwhile, so that
 * the kernel does not take the injected call for the interrupted one; with the registers put back,
 * the kernel's own restart logic (arch_do_signal_or_restart) goes on with the interrupted call.
 */
#include "trace/alias.h"
#include "trace/internal.h"
#include "base/maps.h"
#include "base/sud.h"
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* linux/errno.h, internal to the kernel but visible to tracers */
#define KERNEL_ERESTARTSYS	     512
#define KERNEL_ERESTARTNOINTR	     513
#define KERNEL_ERESTART_RESTARTBLOCK 516
#define KERNEL_SIGSET_BYTES	     8

struct injection {
	struct user_regs_struct saved, call;
	uint64_t mask; /* the thread's blocked signals */
	uint64_t dr7;
};

/* All but SIGTRAP: a forced SIGTRAP that is blocked would lose its handler. */
static int begin(struct trace *t, uint64_t gadget, long nr, const uint64_t a[6],
		 struct injection *in, struct err *e)
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

static int put_back(struct trace *t, const struct injection *in, struct err *e)
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
			return err_set(e, ERR_INTERNAL, "process %d ended in an injected call",
				       (int)t->pid);
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

static bool wants_restart(int64_t ret)
{
	return ret <= -KERNEL_ERESTARTSYS && ret >= -KERNEL_ERESTART_RESTARTBLOCK;
}

/*
 * A pending interrupt makes clone return before it does anything (copy_process, ERESTARTNOINTR):
 * the instruction is then still to be executed.
 */
static int execute(struct trace *t, uint64_t gadget, const struct user_regs_struct *call,
		   int64_t *ret, pid_t *child, struct err *e)
{
	struct user_regs_struct r;

	for (unsigned tries = 0; tries < 100; tries++) {
		if (step_over(t, child, e) || trace_get_regs(t, &r, e))
			return -1;
		*ret = (int64_t)r.rax;
		if (r.rip == gadget + 2 && !wants_restart(*ret))
			return 0;
		if (r.rip != gadget && r.rip != gadget + 2)
			return err_set(e, ERR_INTERNAL, "no syscall instruction at 0x%" PRIx64,
				       gadget);
		if (trace_set_regs(t, call, e))
			return -1;
	}
	return err_set(e, ERR_INTERNAL, "interrupted again and again");
}

static int inject(struct trace *t, uint64_t gadget, long nr, const uint64_t a[6],
		  struct injection *in, int64_t *ret, pid_t *child, struct err *e)
{
	struct err ignored;
	int r;

	if (!t->alive)
		return err_set(e, ERR_INTERNAL, "thread %d is not held", (int)t->tid);
	if (begin(t, gadget, nr, a, in, e))
		return -1;
	r = trace_clear_all(t, e) || execute(t, gadget, &in->call, ret, child, e) ? -1 : 0;
	if (t->alive && put_back(t, in, r ? &ignored : e))
		r = -1;
	if (!r && in->dr7)
		r = trace_poke_debug(t, 7, in->dr7, e);
	t->dr7 = in->dr7;
	return r ? err_wrap(e, "inject system call %ld", nr) : 0;
}

int trace_syscall(struct trace *t, uint64_t gadget, long nr, const uint64_t args[6], int64_t *ret,
		  struct err *e)
{
	struct injection in;
	pid_t child;

	return inject(t, gadget, nr, args, &in, ret, &child, e);
}

/* A fork does not inherit Syscall User Dispatch. An older kernel, which cannot say, has targets with filters only. */
static int copy_dispatch(const struct trace *t, struct trace *c, struct err *e)
{
	struct sud_config on;

	if (sud_get(t->tid, &on))
		return errno == EIO ? 0 : err_errno(e, ERR_HOST, "cannot read the Syscall User Dispatch of %d", t->tid);
	if (on.mode && sud_set(c->tid, &on))
		return err_errno(e, ERR_HOST, "cannot set the Syscall User Dispatch of %d", c->tid);
	return 0;
}

/* The child's first stop; then it gets the parent's registers, mask and slots. */
static int adopt(const struct trace *t, struct injection *in, struct trace *c, struct err *e)
{
	int64_t ax = (int64_t)in->saved.rax;
	int status;

	if (trace_wait(c, 0, &status, e) < 0)
		return -1;
	if (!WIFSTOPPED(status))
		return trace_was_killed(c, status, e) ? -1 : err_set(e, ERR_INTERNAL, "the copy %d ended at once", (int)c->pid);
	c->alive = true;
	/* the restart block is not inherited: begin the interrupted call anew */
	if ((int64_t)in->saved.orig_rax >= 0 && ax == -KERNEL_ERESTART_RESTARTBLOCK)
		in->saved.rax = (unsigned long long)-KERNEL_ERESTARTNOINTR;
	if (put_back(c, in, e))
		return -1;
	for (unsigned i = 0; i < TRACE_SLOTS; i++)
		if ((t->dr7 >> (2 * i) & 3) && trace_poke_debug(c, i, t->dr[i], e))
			return -1;
	if (t->dr7 && trace_poke_debug(c, 7, t->dr7, e))
		return -1;
	memcpy(c->dr, t->dr, sizeof(c->dr));
	c->dr7 = t->dr7;
	c->alt_lo = t->alt_lo;
	c->alt_end = t->alt_end;
	if (copy_dispatch(t, c, e))
		return -1;
	return ptrace(PTRACE_SETOPTIONS, c->tid, 0, 0)
		       ? err_errno(e, trace_why_failed(), "PTRACE_SETOPTIONS")
		       : 0;
}

int trace_fork(struct trace *t, uint64_t gadget, struct trace *child, struct err *e)
{
	const uint64_t args[6] = {CLONE_PARENT};
	struct injection in;
	int64_t ret = 0;
	int r;

	memset(child, 0, sizeof(*child));
	if (ptrace(PTRACE_SETOPTIONS, t->tid, 0, PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE))
		return err_errno(e, trace_why_failed(), "PTRACE_SETOPTIONS of %d", (int)t->tid);
	r = inject(t, gadget, SYS_clone, args, &in, &ret, &child->pid, e);
	if (t->alive && ptrace(PTRACE_SETOPTIONS, t->tid, 0, t->options) && !r)
		r = err_errno(e, trace_why_failed(), "PTRACE_SETOPTIONS of %d", (int)t->tid);
	child->tid = child->pid;
	child->own = true;
	child->passes = t->passes;
	if (!r && (ret < 0 || !child->pid)) {
		errno = (int)-ret;
		r = err_errno(e, ERR_HOST, "fork process %d", (int)t->pid);
	}
	if (!r)
		r = adopt(t, &in, child, e);
	if (!r)
		r = alias_own(child, gadget, e);
	if (r && child->pid)
		trace_kill(child);
	return r;
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
			if (!trace_read(pid, from + p, buf, page, &ignored) &&
			    trace_write(pid, to + p, buf, page, e))
				return -1;
	}
	return 0;
}

int trace_call(struct trace *t, uint64_t gadget, const char *what, long nr, const uint64_t a[6],
		uint64_t *result, struct err *e)
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

static int privatize(struct trace *t, uint64_t gadget, uint64_t addr, uint64_t len, int prot,
		     struct err *e)
{
	const uint64_t map[6] = {
		0, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0};
	uint64_t copy, unused;

	if (trace_call(t, gadget, "mmap", SYS_mmap, map, &copy, e) ||
	    trace_copy_range(t->pid, addr, copy, len, e))
		return -1;
	if (prot != (PROT_READ | PROT_WRITE)) {
		const uint64_t protect[6] = {copy, len, (uint64_t)prot};

		if (trace_call(t, gadget, "mprotect", SYS_mprotect, protect, &unused, e))
			return -1;
	}
	const uint64_t move[6] = {copy, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, addr};

	return trace_call(t, gadget, "mremap", SYS_mremap, move, &unused, e);
}

int trace_privatize(struct trace *t, uint64_t gadget, uint64_t addr, uint64_t len, struct err *e)
{
	return privatize(t, gadget, addr, len, PROT_READ | PROT_WRITE, e);
}

int trace_unshare_memory(struct trace *t, uint64_t gadget, struct err *e)
{
	cleanup_maps struct maps maps = {0};
	struct mapping m;

	if (maps_open(&maps, t->pid, e))
		return -1;
	while (maps_next(&maps, &m)) {
		int prot = PROT_READ | PROT_WRITE | (m.exec ? PROT_EXEC : 0);

		if (!m.shared || !m.write || alias_is(&m))
			continue;
		if (privatize(t, gadget, m.lo, m.hi - m.lo, prot, e))
			return err_wrap(e, "make 0x%" PRIx64 " %.80s private", m.lo, m.path);
	}
	return 0;
}
