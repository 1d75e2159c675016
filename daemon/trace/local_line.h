/* SPDX-License-Identifier: MIT */
/*
 * local_line.h: statements of the program's source in the local search: what an expression is in the middle of one does not
 * count. With ops->line; without it each instruction counts.
 */
#ifndef FRED_TRACE_LOCAL_LINE_H
#define FRED_TRACE_LOCAL_LINE_H

#include "trace/local_state.h"

/*
 * The expression has just become bad, or good, in t. *stays: it still is where the statement is over, or as far as that is looked
 * for. t stays where it is.
 */
int local_stays(struct local *l, struct trace *t, bool bad, bool *stays, struct err *e);
/*
 * The transition of l->r was found; begin stands where the segment begins, with no slots set, and so it does afterwards. Fills
 * r->turn_pc, r->turn_hits and r->statement, as far as they can be known.
 */
int local_statement(struct local *l, struct trace *begin, struct err *e);

#endif
