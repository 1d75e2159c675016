/* SPDX-License-Identifier: MIT */
/* condition.h: a condition that the program checked before it failed, and the search for the statement that changed it.
 */
#ifndef FRED_EXPLAIN_CONDITION_H
#define FRED_EXPLAIN_CONDITION_H

#include "explain/explain.h"
#include "explain/inspect.h"

struct condition {
	char *text; /* malloc'd; NULL: there is none, or the source is not understood */
	char *all; /* of a loop: all of it, without comments and literals; malloc'd, else NULL */
	bool negated; /* the statement is in the `else` branch */
	bool effects; /* evaluating it would change something */
	bool chooses; /* it is the value of a switch, not a condition that is true or false */
	int from, to; /* its lines, from 1 */
};

/* The condition of the innermost `if` or `switch` around a line of source. Pure. */
void condition_around(const char *source, int line, struct condition *c);
/*
 * As that; or the condition of the innermost loop whose first statement the line is, or in whose condition it is: what
 * a statement that waits is waiting for.
 */
void condition_of_wait(const char *source, int line, struct condition *c);
/* The condition of the innermost loop around the line: the loop goes on while it is true. */
void condition_of_loop(const char *source, int line, struct condition *c);
/* One of these, at the statement of a frame. */
typedef void condition_finder(const char *source, int line, struct condition *c);
void condition_at(struct inspect *p, int level, condition_finder *find, struct condition *c);
/* A condition that holds if the statement is not executed: it is true while all is well. malloc'd. */
char *condition_good(const struct condition *c);
void condition_fini(struct condition *c);

/* Does the loop go along a list, by "NAME = NAME->FIELD"? *name and *field, malloc'd. Pure. */
bool condition_list_walked(const char *loop, char **name, char **field);
/* The array, as "p->names", to an element of which a statement assigns, if it assigns to one and to nothing that is not
 * clear; malloc'd, else NULL. Pure. */
char *condition_assigned_array(const char *statement);

/*
 * With values in the places of a frame's variables, is it about numbers alone, as "!(((int)0x3) == 3)"? Nothing turns
 * that. false: it is not, or that is not known. Pure.
 */
bool condition_is_of_numbers(const char *expr);

/* OBJECTS: the frame's variables keep the values that they have at the failure, so that only other memory can change
 * it. */
enum condition_of { CONDITION_OF_ALL, CONDITION_OF_OBJECTS };

#define CONDITION_BEGINS 2
/*
 * The expression is false at the failure, in the frame `level` of p, which is open: searches for what changed it, and
 * adds steps. 0: found; 1: not found, x's notes say why; CONDITION_BEGINS: found, but the last step is only where a
 * variable of it begins, which says nothing of its value; -1: the replay failed. p is closed.
 */
int condition_search(struct explain *x, struct inspect *p, int level, const char *expr, enum condition_of of,
		     struct err *e);

/*
 * good.c: a position before `bad`, between two statements of the outermost function, at which the expression holds;
 * malloc'd, NULL: none was found; thorough: far from `bad`, more of them are looked at. *next: the one after that, at
 * which it does not; NULL: `bad` is. The travel stands nowhere in particular afterwards. -1: the replay failed.
 */
int condition_find_good(struct explain *x, const char *expr, const char *bad, bool thorough, char **good, char **next,
			struct err *e);

/* The expression with the variables of its frame replaced by their values, as far as there are any; malloc'd. */
char *condition_freeze(struct inspect *p, int level, const char *expr);
/*
 * Which statement turned such an expression, that was true and is false at the position `bad` (NULL: the end)? Adds a
 * step, in which it is called `text`; the end of the chain is the caller's. owner: the function that must be running
 * there, "" for any. 0; 1: it did not turn so; -1. The cursor stands nowhere afterwards.
 */
int condition_turned(struct explain *x, const char *text, const char *frozen, const char *owner, const char *bad,
		     struct err *e);

#endif
