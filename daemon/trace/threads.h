/* SPDX-License-Identifier: MIT */
/*
 * threads.h: the threads of a copy. A fork has one thread; the others are made in it by injected calls of clone, and
 * get what the originals had: registers, signal mask, alternate stack, name, and the addresses that the kernel uses at
 * their end. No byte of the memory is changed. What the kernel has noted otherwise for a thread, such as a pending
 * signal, is not copied.
 */
#ifndef FRED_TRACE_THREADS_H
#define FRED_TRACE_THREADS_H

#include "trace/trace.h"

struct trace_thread {
	pid_t tid; /* of the original */
	struct user_regs_struct regs;
	uint64_t mask; /* of its blocked signals */
	stack_t alt;
	uint64_t end_word; /* set_tid_address(2) */
	uint64_t robust, robust_len; /* set_robust_list(2) */
	char name[16];
	size_t xsave_len;
	void *xsave; /* malloc'd */
};

/* Notes the state of a held thread. trace_thread_fini in any case. */
int trace_thread_save(struct trace *t, uint64_t gadget, struct trace_thread *s, struct err *e);
void trace_thread_fini(struct trace_thread *s);
/* first: made by trace_fork of the thread that `s` is of. Gives it what a fork does not inherit. */
int trace_thread_give(struct trace *first, uint64_t gadget, const struct trace_thread *s, struct err *e);
/* Makes such a thread in the process of `first`, held by *out. */
int trace_thread_make(struct trace *first, uint64_t gadget, const struct trace_thread *s, struct trace *out,
		      struct err *e);

#endif
