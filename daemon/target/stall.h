/* SPDX-License-Identifier: MIT */
/*
 * stall.h: decides whether a replay makes progress. It does if it reaches events; or if the thread whose turn it is
 * uses the processor, up to a multiple of what it took between the same two events in the recording; or while the
 * recorder does long work of its own. Wall time alone shows nothing: on a busy machine a thread that can run may wait
 * for long.
 */
#ifndef FRED_TARGET_STALL_H
#define FRED_TARGET_STALL_H

#include "target/target.h"

#define STALL_LOOK_MS 100 /* the time between two looks */

struct stall {
	uint64_t turn; /* when progress was last seen */
	uint64_t own_work; /* its value at that look */
	uint32_t owner;
	uint64_t seen_ns; /* CPU time of that thread and its lookahead forks */
	uint64_t used_ns; /* CPU time used since then, also by forks that have ended */
	unsigned looks, idle; /* looks since then; idle: those in which no thread ran or could run */
	bool waits; /* there is no progress because all threads wait */
	double limit_s; /* of CPU time; negative: not known yet */
	double recorded_s; /* CPU time up to the next event in the recording; negative: not known */
};

void stall_begin(struct stall *s, const struct target *t);
/* Looks once; true: the replay makes no progress. */
bool stall_look(struct stall *s, const struct target *t);
/*
 * Sets e: where the replay is, and what it waits for. pc: of the thread whose turn it is, if the caller traces it; 0:
 * unknown.
 */
void stall_explain(const struct stall *s, const struct target *t, uint64_t pc, struct err *e);

#endif
