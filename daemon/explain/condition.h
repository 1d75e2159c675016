/* SPDX-License-Identifier: MIT */
/* condition.h: a condition that the program has checked before it failed, and the search for what turned it. */
#ifndef FRED_EXPLAIN_CONDITION_H
#define FRED_EXPLAIN_CONDITION_H

#include "explain/explain.h"
#include "explain/place.h"

/*
 * The condition of the innermost `if` around a line of source, malloc'd; *negated: the line is in its `else`. NULL: there is none, or
 * it cannot be told. Pure.
 */
char *condition_around(const char *source, int line, bool *negated);
/* The same at the statement of a frame. */
char *condition_at(struct place *p, int level, bool *negated);

/*
 * The expression is false at the failure, in the frame `level` of p, which is open: what turned it? Adds steps. 0: found;
 * 1: not found, why is in x's notes; -1: the replay failed. p is closed.
 */
int condition_search(struct explain *x, struct place *p, int level, const char *expr, struct err *e);

#endif
