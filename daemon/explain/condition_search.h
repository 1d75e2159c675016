/* SPDX-License-Identifier: MIT */
/* condition_search.h: the search for the statement that changed a condition which the program checked before it failed.
 */
#ifndef FRED_EXPLAIN_CONDITION_SEARCH_H
#define FRED_EXPLAIN_CONDITION_SEARCH_H

#include "chain/condition.h"

/* OBJECTS: the frame's variables keep the values that they have at the failure, so that only other memory can change
 * it. */
enum condition_of { CONDITION_OF_ALL, CONDITION_OF_OBJECTS };

#define CONDITION_BEGINS 2
/*
 * The expression is false at the failure, in the frame `level` of p, which is open: searches for what changed it, and
 * adds steps. 0: found; 1: not found, x's notes say why; CONDITION_BEGINS: found, but the last step is only where a
 * variable of the expression begins, which says nothing about its value; -1: the replay failed. p is closed.
 */
int condition_search(struct explain *x, struct inspect *p, int level, const char *expr, enum condition_of of,
		     struct err *e);

/*
 * good.c: *good becomes a position before `bad`, between two statements of the outermost function, at which the
 * expression holds; malloc'd, NULL: none was found. thorough: far from `bad`, more positions are tried. *next: the
 * position after that one, at which the expression does not hold; NULL: `bad` itself. The cursor may stand anywhere
 * afterwards. -1: the replay failed.
 */
int condition_find_good(struct explain *x, const char *expr, const char *bad, bool thorough, char **good, char **next,
			struct err *e);

/*
 * Is the first position before the second? 1; 0: no, or they are equal; -1: the replay failed. The cursor may stand
 * anywhere afterwards.
 */
int condition_is_before(struct explain *x, const struct timeline_point *first, const struct timeline_point *second,
			struct err *e);

/*
 * The expression, which has no macros (see condition_expand), with the variables of its frame replaced by their values,
 * as far as there are any; malloc'd.
 */
char *condition_freeze(struct inspect *p, int level, const char *expr);
/*
 * Which statement made such an expression false, which is false at the position `bad` (NULL: the end)? Adds a step, in
 * which the expression is called `text`; the caller sets the end of the chain. owner: the function that must be in
 * execution there, "" for any. 0; 1: it did not turn in this way, or, with *unknown (which may be NULL) set, the search
 * failed; -1. The cursor may stand anywhere afterwards.
 */
int condition_turned(struct explain *x, const char *text, const char *frozen, const char *owner, const char *bad,
		     bool *unknown, struct err *e);

#endif
