/* SPDX-License-Identifier: MIT */
/*
 * stall.h: whether a replay makes progress. It does while it reaches events, or while the thread whose turn it is uses
 * the processor, up to a multiple of what it took between the two events when it was recorded; and while the recorder
 * does long work of its own. Wall time alone proves nothing: on a busy machine a thread that can run may wait for long.
 */
#ifndef FRED_TARGET_STALL_H
#define FRED_TARGET_STALL_H

#include "target/target.h"

#define STALL_LOOK_MS 100 /* from one look to the next */

struct stall {
	uint64_t turn; /* when progress was last seen */
	uint64_t own_work; /* at that look, too */
	uint32_t owner;
	uint64_t seen_ns; /* CPU time of that thread and its lookahead forks */
	uint64_t used_ns; /* the same since then, forks that have ended included */
	unsigned looks, idle; /* since then; idle: in which no thread ran or could run */
	bool waits; /* there is no progress because all threads wait */
	double limit_s; /* of CPU time; negative: not known yet */
	double recorded_s; /* what the way to the next event took when recorded; negative: not known */
};

void stall_begin(struct stall *s, const struct target *t);
/* Looks once; true: the replay makes no progress. */
bool stall_look(struct stall *s, const struct target *t);
/*
 * Sets e: where the replay stands and what it waits for. pc: of the thread whose turn it is, from a caller that traces
 * it; 0: unknown.
 */
void stall_explain(const struct stall *s, const struct target *t, uint64_t pc, struct err *e);

#endif
