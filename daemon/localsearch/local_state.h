/* SPDX-License-Identifier: MIT */
/* local_state.h: the left end of the local search, the last state known to be good: evaluating, copying, moving on. */
#ifndef FRED_LOCALSEARCH_LOCAL_STATE_H
#define FRED_LOCALSEARCH_LOCAL_STATE_H

#include "localsearch/local_move.h"

enum local_verdict {
	LOCAL_NOT_YET = 1, /* the left end is good, may have moved, and the limit is reached */
	LOCAL_NARROWED, /* ... and a bad state is known to follow shortly */
	LOCAL_ANSWERED, /* r->outcome is set */
};

int local_evaluate(struct local *l, struct trace *t, bool *bad, struct trace_words *words, struct err *e);
int local_fork_left(struct local *l, struct trace *copy, struct err *e);
/* A copy of any state. */
int local_fork(struct local *l, struct trace *from, struct trace *copy, struct err *e);
/* Makes a copy the left end. The previous left end is killed unless it is the original. */
void local_replace_left(struct local *l, const struct trace *copy);
/* The same with a copy that was just evaluated as good, and its words. */
void local_adopt(struct local *l, const struct trace *copy, const struct trace_words *words);
/*
 * The copy has moved, and stopped for `how`: evaluates it. A good one becomes the left end, a bad one
 * is killed. *v: LOCAL_NOT_YET, or LOCAL_ANSWERED for a good one at the end of the segment.
 */
int local_judge_copy(struct local *l, struct trace *copy, enum local_move how, bool *good, enum local_verdict *v,
		     struct err *e);
enum local_verdict local_answer(struct local *l, enum trace_local_outcome o);
/* Moves the left end itself by one unit and evaluates; raw: at most this many hits or steps, 0: no limit. */
int local_one_in_place(struct local *l, enum local_unit unit, uint64_t raw, enum local_verdict *v, struct err *e);
/*
 * Moves the left end on unit by unit. A cheap expression is evaluated after each unit; an expensive one after blocks of
 * units, whose size doubles while they end good and is halved once one ended bad: the last move is a single unit from a
 * state evaluated as good, with the words of that state. raw_max: at most this many hits or instructions, 0: no limit.
 */
int local_go_through(struct local *l, enum local_unit unit, uint64_t raw_max, enum local_verdict *v, struct err *e);

#endif
