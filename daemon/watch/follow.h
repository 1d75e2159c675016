/* SPDX-License-Identifier: MIT */
/*
 * follow.h: what becomes of an expression behind a position. The process goes on, all of its threads held by ptrace, with
 * the words that the expression reads in debug registers; it is evaluated wherever one of them changes. An expression that
 * does not say what it reads, or reads too much for the debug registers, is evaluated at every event instead, and, when the time is over, at some further ones.
 */
#ifndef FRED_WATCH_FOLLOW_H
#define FRED_WATCH_FOLLOW_H

#include "search/pred.h"
#include "expr/expr.h"
#include "replay/navigate.h"
#include "watch/statements.h"

struct follow {
	struct nav *nav;
	struct expr *x;
	struct gdb *g;
	const struct pred *pred;
	uint64_t until; /* the event at which it ends, at the latest */
	bool at_events; /* what it is at events counts, not what it becomes in a segment and ceases to be before its end */
	uint64_t nth; /* it ends at the nth change from good to bad, from 1; 0: at none */
	struct statements *statements; /* what it is inside of one does not count, as far as that is soon seen; NULL: it does */
	uint64_t budget_ns; /* wall time after which it ends, at the latest */
};

struct follow_result {
	bool reached; /* it came to `until`, and has left out no event */
	bool exact; /* ... and every change on the way was looked at, inside segments, too */
	uint64_t at; /* the event that it came to */
	enum pred_side last; /* what the expression was there, or before its stretch without a value */
	bool turned; /* from good to bad: the last such change was in the segment behind event `turn` */
	uint64_t turn;
	uint64_t turns, in_segment; /* how many there were in all, and of those in that segment */
	uint64_t evaluations, evaluate_ns, total_ns;
};

/*
 * The process stands at an event, at most `until`; it is used up. What cannot be followed ends early (!reached); -1: the
 * client asked to stop, or GDB failed.
 */
int follow_run(const struct follow *f, struct follow_result *r, struct err *e);

#endif
