/* SPDX-License-Identifier: MIT */
/*
 * kernel.h: system calls that order threads, or give memory out: what is written to a pipe, a socket or another
 * descriptor comes before what is read from it; a signal that is sent before its handler; a futex's wake-up before the
 * end of the wait. Which two ends belong to one pipe is known from the calls that made them. All sockets that were not
 * made as a pair count as one object, and so do all descriptors that are not known.
 */
#ifndef FRED_RACECHECK_KERNEL_H
#define FRED_RACECHECK_KERNEL_H

#include "racecheck/syncs.h"
#include "reclog/reader.h"

#define KERNEL_FDS 65536u

struct kernel {
	struct syncs *syncs; /* borrowed */
	struct detect *d;
	uint32_t *fd; /* by descriptor: what it leads to; 0: not known */
	uint32_t objects;
};

void kernel_init(struct kernel *c, struct syncs *syncs, struct detect *d);
void kernel_fini(struct kernel *c);
/* A SYS event: before the call, and after it. */
void kernel_begin(struct kernel *c, uint32_t thread, const struct rlog_rec *rec);
void kernel_end(struct kernel *c, uint32_t thread, const struct rlog_rec *rec, const struct rlog_rec *result);
/* Does this call read memory of the program's? */
bool kernel_reads(const struct rlog_rec *rec, const struct rlog_rec *result, uint64_t *addr, uint64_t *len);
/* A SIGNAL event: the handler begins. */
void kernel_signal(struct kernel *c, uint32_t thread, uint64_t signo);

#endif
