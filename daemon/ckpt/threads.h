/* SPDX-License-Identifier: MIT */
/* threads.h: threads of a target, stopped for a moment without a signal (PTRACE_SEIZE), as CRIU does it. */
#ifndef FRED_CKPT_THREADS_H
#define FRED_CKPT_THREADS_H

#include "ckpt/image_pids.h"

/* The caller becomes its tracer, and releases it by PTRACE_DETACH with *sig: a signal that it was to receive, or 0. */
int threads_stop(pid_t tid, int *sig, struct err *e);
/*
 * Clears the debug status of each thread of a restored image. CRIU 4.2 leaves a hit of its own breakpoint there: GDB
 * would take the next fault for one of a breakpoint that was removed, and let the process die of it.
 */
int threads_forget_hits(const struct image_pids *p, struct err *e);

#endif
