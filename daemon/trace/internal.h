/* SPDX-License-Identifier: MIT */
/* internal.h: what the files of this folder share. */
#ifndef FRED_TRACE_INTERNAL_H
#define FRED_TRACE_INTERNAL_H

#include <errno.h>
#include <sys/wait.h>

#include "trace/trace.h"

/* By errno. ESRCH: a process that is held does not end by itself. */
static inline enum err_kind trace_why_failed(void)
{
	return errno == ESRCH ? ERR_KILLED : ERR_INTERNAL;
}

/* Does the wait status say that the process was killed by SIGKILL? Then e is ERR_KILLED. Never for a mortal one
 * (t->mortal). */
bool trace_was_killed(const struct trace *t, int status, struct err *e);

/* 1: status is there; 0: with WNOHANG, nothing yet; -1: error. */
int trace_wait(struct trace *t, int flags, int *status, struct err *e);
/* What a wait status means; reads and clears DR6. */
int trace_classify(struct trace *t, int status, struct trace_stop *out, struct err *e);
/* To be called before each resume: notes where a single step begins. */
void trace_note_step(struct trace *t, bool step);
/* Is a trap or fault of the last instruction pending, not yet reported by ptrace? */
bool trace_has_trap(const struct trace *t);
/* Debug register i of the thread, 0 to 7. */
int trace_peek_debug(struct trace *t, unsigned i, unsigned long *v, struct err *e);
int trace_poke_debug(struct trace *t, unsigned i, unsigned long v, struct err *e);
/* Restores a slot and DR7. addr, dr7: t->dr[slot] and t->dr7 as they were. */
int trace_restore_slot(struct trace *t, unsigned slot, uint64_t addr, uint64_t dr7, struct err *e);

/* linux/errno.h: internal to the kernel, but tracers see them in rax */
#define TRACE_ERESTARTSYS 512
#define TRACE_ERESTARTNOINTR 513
#define TRACE_ERESTART_RESTARTBLOCK 516

/* Was a system call that returned this interrupted, so that the kernel makes it again as the thread goes on? */
static inline bool trace_wants_restart(int64_t ret)
{
	return ret <= -TRACE_ERESTARTSYS && ret >= -TRACE_ERESTART_RESTARTBLOCK;
}

/* What an injected call changes. */
struct trace_injection {
	struct user_regs_struct saved, call;
	uint64_t mask; /* the thread's blocked signals */
	uint64_t dr7;
};

/* A call made by the target, and its state as before. *ret: the kernel's; *child: of a fork. */
int trace_inject(struct trace *t, uint64_t gadget, long nr, const uint64_t a[6], struct trace_injection *in,
		 int64_t *ret, pid_t *child, struct err *e);
/* Gives a thread, or its copy, the registers and signal mask from before the call. */
int trace_put_back(struct trace *t, const struct trace_injection *in, struct err *e);
/* As trace_syscall; a call that fails is an error, which says `what`. */
int trace_call(struct trace *t, uint64_t gadget, const char *what, long nr, const uint64_t a[6], uint64_t *result,
	       struct err *e);
/* Copies memory within a process; a page that cannot be read is left out. */
int trace_copy_range(pid_t pid, uint64_t from, uint64_t to, uint64_t len, struct err *e);

#endif
