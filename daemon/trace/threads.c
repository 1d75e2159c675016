/* SPDX-License-Identifier: MIT */
/* threads.c: see threads.h. What calls read or write is put below the thread's stack pointer, and removed again. */
#include "trace/threads.h"

#include <elf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/str.h"
#include "trace/internal.h"

#define GET_TID_ADDRESS 40 /* PR_GET_TID_ADDRESS */
#define MASK_BYTES 8 /* of the kernel's sigset_t */

/* What one call reads or writes. */
struct scratch {
	uint64_t at;
	uint8_t was[64];
};

static int scratch_begin(struct trace *t, struct scratch *s, const void *data, size_t n, struct err *e)
{
	struct user_regs_struct r;

	if (trace_get_regs(t, &r, e))
		return -1;
	s->at = (r.rsp - TRACE_RED_ZONE - sizeof(s->was)) & ~15ull;
	if (trace_read(t->pid, s->at, s->was, sizeof(s->was), e))
		return -1;
	return data ? trace_write(t->pid, s->at, data, n, e) : 0;
}

static int scratch_end(struct trace *t, const struct scratch *s, void *data, size_t n, struct err *e)
{
	if (data && trace_read(t->pid, s->at, data, n, e))
		return -1;
	return trace_write(t->pid, s->at, s->was, sizeof(s->was), e);
}

static int save_kernels(struct trace *t, uint64_t gadget, struct trace_thread *s, struct err *e)
{
	struct scratch m;
	uint64_t list[2], unused;

	if (scratch_begin(t, &m, NULL, 0, e) ||
	    trace_call(t, gadget, "sigaltstack", SYS_sigaltstack, (const uint64_t[6]){0, m.at}, &unused, e) ||
	    scratch_end(t, &m, &s->alt, sizeof(s->alt), e))
		return -1;
	if (scratch_begin(t, &m, NULL, 0, e) ||
	    trace_call(t, gadget, "prctl", SYS_prctl, (const uint64_t[6]){GET_TID_ADDRESS, m.at}, &unused, e) ||
	    scratch_end(t, &m, &s->end_word, sizeof(s->end_word), e))
		return -1;
	if (scratch_begin(t, &m, NULL, 0, e) ||
	    trace_call(t, gadget, "get_robust_list", SYS_get_robust_list, (const uint64_t[6]){0, m.at, m.at + 8},
		       &unused, e) ||
	    scratch_end(t, &m, list, sizeof(list), e))
		return -1;
	s->robust = list[0];
	s->robust_len = list[1];
	return 0;
}

static int save_name(struct trace *t, struct trace_thread *s, struct err *e)
{
	cleanup_free char *path = str_fmt("/proc/%d/task/%d/comm", (int)t->pid, (int)t->tid);
	cleanup_buf struct buf b = {0};

	if (read_file(path, &b, e))
		return -1;
	snprintf(s->name, sizeof(s->name), "%.*s", (int)strcspn(buf_str(&b), "\n"), buf_str(&b));
	return 0;
}

int trace_thread_save(struct trace *t, uint64_t gadget, struct trace_thread *s, struct err *e)
{
	*s = (struct trace_thread){.tid = t->tid, .xsave_len = TRACE_XSTATE_MAX, .xsave = xmalloc(TRACE_XSTATE_MAX)};
	if (trace_get_regs(t, &s->regs, e) || trace_get_xsave(t, s->xsave, &s->xsave_len, e) || save_name(t, s, e))
		return -1;
	if (ptrace(PTRACE_GETSIGMASK, t->tid, MASK_BYTES, &s->mask))
		return err_errno(e, trace_why_failed(), "signal mask of thread %d", (int)t->tid);
	return save_kernels(t, gadget, s, e);
}

void trace_thread_fini(struct trace_thread *s)
{
	free(s->xsave);
	*s = (struct trace_thread){0};
}

static int give_robust(struct trace *t, uint64_t gadget, const struct trace_thread *s, struct err *e)
{
	uint64_t unused;

	return s->robust ? trace_call(t, gadget, "set_robust_list", SYS_set_robust_list,
				      (const uint64_t[6]){s->robust, s->robust_len}, &unused, e)
			 : 0;
}

int trace_thread_give(struct trace *first, uint64_t gadget, const struct trace_thread *s, struct err *e)
{
	uint64_t unused;

	return trace_call(first, gadget, "set_tid_address", SYS_set_tid_address, (const uint64_t[6]){s->end_word},
			  &unused, e) ||
			       give_robust(first, gadget, s, e)
		       ? -1
		       : 0;
}

/* A call that it was in begins anew: it is one that waits, and its restart block is not inherited. */
static int give_registers(struct trace *t, const struct trace_thread *s, struct err *e)
{
	struct iovec x = {s->xsave, s->xsave_len};
	struct trace_injection in = {.saved = s->regs, .mask = s->mask};

	if ((int64_t)in.saved.orig_rax >= 0 && (int64_t)in.saved.rax == -TRACE_ERESTART_RESTARTBLOCK)
		in.saved.rax = (unsigned long long)-TRACE_ERESTARTNOINTR;
	if (ptrace(PTRACE_SETREGSET, t->tid, NT_X86_XSTATE, &x))
		return err_errno(e, trace_why_failed(), "extended registers of thread %d", (int)t->tid);
	return trace_put_back(t, &in, e);
}

static int give_rest(struct trace *t, uint64_t gadget, const struct trace_thread *s, struct err *e)
{
	stack_t alt = s->alt;
	struct scratch m;
	uint64_t unused;

	alt.ss_flags &= ~SS_ONSTACK;
	if (!(alt.ss_flags & SS_DISABLE) &&
	    (scratch_begin(t, &m, &alt, sizeof(alt), e) ||
	     trace_call(t, gadget, "sigaltstack", SYS_sigaltstack, (const uint64_t[6]){m.at}, &unused, e) ||
	     scratch_end(t, &m, NULL, 0, e)))
		return -1;
	if (scratch_begin(t, &m, s->name, sizeof(s->name), e) ||
	    trace_call(t, gadget, "prctl", SYS_prctl, (const uint64_t[6]){PR_SET_NAME, m.at}, &unused, e) ||
	    scratch_end(t, &m, NULL, 0, e))
		return -1;
	return give_robust(t, gadget, s, e);
}

static int first_stop(struct trace *t, struct err *e)
{
	int status;

	if (trace_wait(t, 0, &status, e) < 0)
		return -1;
	if (!WIFSTOPPED(status))
		return trace_was_killed(t, status, e) ? -1 : err_set(e, ERR_INTERNAL, "thread %d ended", (int)t->tid);
	t->alive = true;
	return ptrace(PTRACE_SETOPTIONS, t->tid, 0, t->options) ? err_errno(e, trace_why_failed(), "PTRACE_SETOPTIONS")
								: 0;
}

int trace_thread_make(struct trace *first, uint64_t gadget, const struct trace_thread *s, struct trace *out,
		      struct err *e)
{
	const uint64_t args[6] = {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
					  CLONE_SETTLS | CLONE_CHILD_CLEARTID,
				  s->regs.rsp, 0, s->end_word, s->regs.fs_base};
	struct trace_injection in;
	int64_t ret = 0;
	int r;

	*out = (struct trace){.pid = first->pid, .options = first->options & PTRACE_O_EXITKILL};
	if (ptrace(PTRACE_SETOPTIONS, first->tid, 0, PTRACE_O_TRACECLONE | out->options))
		return err_errno(e, trace_why_failed(), "PTRACE_SETOPTIONS of %d", (int)first->tid);
	r = trace_inject(first, gadget, SYS_clone, args, &in, &ret, &out->tid, e);
	if (first->alive && ptrace(PTRACE_SETOPTIONS, first->tid, 0, first->options) && !r)
		r = err_errno(e, trace_why_failed(), "PTRACE_SETOPTIONS of %d", (int)first->tid);
	if (r)
		return -1;
	if (ret < 0 || !out->tid) {
		errno = (int)-ret;
		return err_errno(e, ERR_HOST, "make a thread in process %d", (int)first->pid);
	}
	return first_stop(out, e) || give_registers(out, s, e) || give_rest(out, gadget, s, e) ? -1 : 0;
}
