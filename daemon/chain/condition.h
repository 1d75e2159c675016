/* SPDX-License-Identifier: MIT */
/*
 * condition.h: a condition that the program checked, as its source has it around a line. What takes no inspect is
 * pure: text in, text out.
 */
#ifndef FRED_CHAIN_CONDITION_H
#define FRED_CHAIN_CONDITION_H

#include "chain/inspect.h"

struct condition {
	char *text; /* malloc'd; NULL: there is none, or the source is not understood */
	char *all; /* the whole text of a loop, without comments and literals; malloc'd, else NULL */
	bool negated; /* the statement is in the `else` branch */
	bool effects; /* evaluating it would change something */
	bool lost; /* the source around the line is not understood: text is NULL, or another condition */
	bool chooses; /* it is the value of a switch, not a condition that is true or false */
	int from, to; /* its first and last line, from 1 */
};

/* The condition of the innermost `if` or `switch` around a line of source. Pure. */
void condition_around(const char *source, int line, struct condition *c);
/*
 * As condition_around; or if the line is the first statement of a loop, or in its condition: the condition of the
 * innermost such loop. That is what a statement that waits is waiting for.
 */
void condition_of_wait(const char *source, int line, struct condition *c);
/* The condition of the innermost loop around the line: the loop is repeated while it is true. */
void condition_of_loop(const char *source, int line, struct condition *c);
/* One of the above functions, to be called for the statement of a frame. */
typedef void condition_finder(const char *source, int line, struct condition *c);
void condition_at(struct inspect *p, int level, condition_finder *find, struct condition *c);
/* The expression without the macros that the frame's source defines, or a header beside it, malloc'd. */
char *condition_expand(struct inspect *p, int level, const char *expr);
/* How many statements of the frame's source call a function of that name? */
unsigned condition_calls(struct inspect *p, int level, const char *function);
/* Comments, literals and the preprocessor's lines become blanks. Pure. */
void condition_strip(char *text);
/* The same of a text. Pure. */
unsigned condition_calls_in(const char *source, const char *function);
/*
 * Does the line only assign a constant to a member of what a variable points to, as "p->n = 0;"? The variable's name,
 * malloc'd, else NULL. Pure.
 */
char *condition_member_set(const char *line);
/* Does the line only assign to a variable, as "p->n = n;"? That variable's name, malloc'd, else NULL. Pure. */
char *condition_name_assigned(const char *line);
/* A condition that is true as long as the statement is not executed, so as long as all is well. malloc'd. */
char *condition_good(const struct condition *c);
void condition_fini(struct condition *c);

/* Does a line of source only test a condition: is no statement behind it, and does it change nothing? Pure. */
bool condition_only_tests(const char *line);

/* Does the loop follow a list, by "NAME = NAME->FIELD"? *name and *field, malloc'd. Pure. */
bool condition_list_walked(const char *loop, char **name, char **field);
/*
 * The array (for example "p->names") that a statement assigns an element of. NULL if it assigns to anything else as
 * well, or if that is not clear. malloc'd. Pure.
 */
char *condition_assigned_array(const char *statement);

/*
 * The variables of a frame in a condition were replaced by their values: are only numbers left, as in "!(((int)0x3) ==
 * 3)"? Then no statement can change its value. false: other things are left, or it is not known. Pure.
 */
bool condition_is_of_numbers(const char *expr);

#endif
