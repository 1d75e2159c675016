/* SPDX-License-Identifier: MIT */
/*
 * local_line.h: the local search by statements of the program's source: what the expression is in the
 * middle of a statement does not count. Needs ops->line; without it each instruction counts.
 */
#ifndef FRED_LOCALSEARCH_LOCAL_LINE_H
#define FRED_LOCALSEARCH_LOCAL_LINE_H

#include "localsearch/local_state.h"

/*
 * The expression has just become bad (or good) in t. *stays: it still is at the end of the statement, or where the
 * search for that end stops. t is not moved.
 */
int local_stays(struct local *l, struct trace *t, bool bad, bool *stays, struct err *e);
/*
 * The transition of l->r was found. begin stands at the beginning of the segment, with no slots set, and is not moved.
 * Sets r->turn_pc, r->turn_hits and r->statement as far as they can be known. *contradicts: the state before the
 * transition is bad when it is gone to again.
 */
int local_statement(struct local *l, struct trace *begin, bool *contradicts, struct err *e);

#endif
