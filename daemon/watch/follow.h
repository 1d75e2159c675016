/* SPDX-License-Identifier: MIT */
/*
 * follow.h: how an expression's value changes after a position. The process runs on, all of its threads held by ptrace,
 * with the words that the expression reads in debug registers; the expression is evaluated whenever one of them
 * changes. If it is not known what the expression reads, or it reads more than the debug registers hold, it is
 * evaluated at every event instead, and at some further events when the time is up.
 */
#ifndef FRED_WATCH_FOLLOW_H
#define FRED_WATCH_FOLLOW_H

#include "expr/expr.h"
#include "replay/navigate.h"
#include "search/pred.h"
#include "watch/statements.h"

struct follow {
	struct nav *nav;
	struct expr *x;
	struct gdb *g;
	const struct pred *pred;
	uint64_t until; /* the last event to follow to */
	bool at_events; /* only values at events count, not those that last for part of a segment only */
	uint64_t nth; /* stop at the nth change from good to bad, from 1; 0: do not stop */
	/*
	 * values inside a statement do not count, if the statement's end is found within TRACE_LINE_STEPS; NULL: they
	 * count
	 */
	struct statements *statements;
	/* of work, that is counted (trace/budget.h): then following stops; another run, which confirms what was found
	 * by hits, has as much */
	uint64_t budget_ns;
};

struct follow_result {
	bool reached; /* `until` was reached, and no event was left out */
	bool exact; /* ... and every change on the way was evaluated, inside segments too; if found by hits, twice */
	bool by_events; /* on a part of the way at least, only values at events were looked at */
	uint64_t at; /* the event that was reached */
	enum pred_side last; /* the value there; if there is none, the last one before */
	bool turned; /* it changed from good to bad; the last such change is in the segment after event `turn` */
	uint64_t turn;
	uint64_t turns, in_segment; /* how many such changes there were in all, and how many of them in that segment */
	uint64_t evaluations, evaluate_ns, total_ns;
};

/*
 * The process is at an event, at most `until`; it cannot be used afterwards. If it cannot be followed to `until`,
 * r->reached is false. -1: the user cancelled, or GDB failed.
 */
int follow_run(const struct follow *f, struct follow_result *r, struct err *e);

#endif
