/* SPDX-License-Identifier: MIT */
/*
 * local_count.h: the local search by counting, so that it takes a logarithm of evaluations: bisects the branches that the
 * thread executes (trace/walk.h counts them), and then the instructions up to the next branch.
 */
#ifndef FRED_TRACE_LOCAL_COUNT_H
#define FRED_TRACE_LOCAL_COUNT_H

#include "trace/local_state.h"
#include "trace/walk.h"

/* May end with NOT_YET: the left end is good and may have moved on; another way has to do. */
int local_by_branches(struct local *l, enum local_verdict *v, struct err *e);

/* Can branches be counted at all? */
bool local_can_walk(const struct local *l);
/* As w->ask says. *ended: that is the end of the search. enum walk_end, or -1. */
int local_walk_on(struct local *l, struct trace *t, struct walk *w, bool *ended, struct err *e);
/* Walks a copy to before its nth branch (0: none) or to the end of what is searched. As local_walk_on. */
int local_walk_copy(struct local *l, struct trace *copy, uint64_t nth, struct walk *w, bool *ended, struct err *e);
bool local_is_in_recorder(struct local *l, struct trace *t);
/*
 * Over what cannot be walked: the recorder's code, a call of the kernel, which is the recorder's to make, or one other
 * instruction. 1: it does not come behind it.
 */
int local_cross_gap(struct local *l, struct trace *t, struct err *e);

#endif
