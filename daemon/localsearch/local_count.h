/* SPDX-License-Identifier: MIT */
/*
 * local_count.h: the local search by bisection: over the branches that the thread executes (trace/walk.h
 * counts them), then over the instructions up to the next branch. It takes a logarithmic number of
 * evaluations.
 */
#ifndef FRED_LOCALSEARCH_LOCAL_COUNT_H
#define FRED_LOCALSEARCH_LOCAL_COUNT_H

#include "localsearch/local_state.h"
#include "trace/walk.h"

/*
 * Searches by branches. LOCAL_NOT_YET: the left end is good and may have moved; the caller has to go on in another way.
 */
int local_by_branches(struct local *l, enum local_verdict *v, struct err *e);

/* Can branches be counted at all? */
bool local_can_walk(const struct local *l);
/* Walks as w->ask says. *ended: t has reached the end of the segment. Returns enum walk_end, or -1. */
int local_walk_on(struct local *l, struct trace *t, struct trace_walk *w, bool *ended, struct err *e);
/* Walks a copy to before its nth branch (0: none), or to the end of the segment. Returns as local_walk_on. */
int local_walk_copy(struct local *l, struct trace *copy, uint64_t nth, struct trace_walk *w, bool *ended,
		    struct err *e);
bool local_is_in_recorder(struct local *l, struct trace *t);
/*
 * Moves t over what cannot be walked: the recorder's code, a system call, or one other instruction that the recorder
 * does not translate. 1: t does not get past it.
 */
int local_cross_gap(struct local *l, struct trace *t, struct err *e);
/*
 * Moves t to after the next gap. 1: it does not get there; *ended: because the segment is over. *branches: those on the
 * way.
 */
int local_over_gap(struct local *l, struct trace *t, uint64_t *branches, bool *ended, struct err *e);

#endif
