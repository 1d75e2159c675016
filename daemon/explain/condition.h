/* SPDX-License-Identifier: MIT */
/* condition.h: a condition that the program has checked before it failed, and the search for what turned it. */
#ifndef FRED_EXPLAIN_CONDITION_H
#define FRED_EXPLAIN_CONDITION_H

#include "explain/explain.h"
#include "explain/place.h"

struct condition {
	char *text; /* malloc'd; NULL: there is none, or it cannot be told */
	bool negated; /* the statement is in its `else` */
	bool effects; /* evaluating it would change something */
	int from, to; /* its lines, from 1 */
};

/* The condition of the innermost `if` around a line of source. Pure. */
void condition_around(const char *source, int line, struct condition *c);
/* The same at the statement of a frame. */
void condition_at(struct place *p, int level, struct condition *c);
/* What holds where the statement is not executed: true while all is well. malloc'd. */
char *condition_good(const struct condition *c);
void condition_fini(struct condition *c);

/* OBJECTS: the frame's own variables count with the values that they have there: only memory can have turned it. */
enum condition_of { CONDITION_OF_ALL, CONDITION_OF_OBJECTS };

/*
 * The expression is false at the failure, in the frame `level` of p, which is open: what turned it? Adds steps. 0: found;
 * 1: not found, why is in x's notes; -1: the replay failed. p is closed.
 */
int condition_search(struct explain *x, struct place *p, int level, const char *expr, enum condition_of of, struct err *e);

#endif
