/* SPDX-License-Identifier: MIT */
/*
 * flow.h: where a value came from: back from a state, over loads, stores and moves, as long as these only copied it or added
 * constants to it, to the statement that made it.
 */
#ifndef FRED_EXPLAIN_FLOW_H
#define FRED_EXPLAIN_FLOW_H

#include "explain/explain.h"

/*
 * The travel stands at a state of thread tid, in which the value is at l. Adds steps to the chain and says why it ends. pointer: the
 * value is an address, or was meant to be one. -1: the replay failed.
 */
int flow_follow(struct explain *x, pid_t tid, const struct insn_loc *l, bool pointer, struct err *e);
/*
 * As that, from what the instruction at the PC writes: it is the last step of the chain already.
 */
int flow_follow_write(struct explain *x, pid_t tid, struct err *e);
/*
 * To the state before the last write to [addr, addr + len), at most 8 bytes, or to `birth` (an address whose 8 bytes
 * begin its life; 0: none), from here back. 1: there was none since the beginning; 2: given up, the chain has been ended.
 */
int flow_last_write(struct explain *x, uint64_t addr, unsigned len, uint64_t birth, bool *is_birth, struct err *e);

#endif
