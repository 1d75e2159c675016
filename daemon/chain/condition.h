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
	char *all; /* of a loop: all of it, without comments and literals; malloc'd, else NULL */
	bool negated; /* the statement is in the `else` branch */
	bool effects; /* evaluating it would change something */
	bool lost; /* the source around the line is not understood: text is NULL, or is that of another condition */
	bool chooses; /* it is the value of a switch, not a condition that is true or false */
	int from, to; /* its lines, from 1 */
};

/* The condition of the innermost `if` or `switch` around a line of source. Pure. */
void condition_around(const char *source, int line, struct condition *c);
/*
 * As condition_around; or the condition of the innermost loop whose first statement the line is, or in whose condition
 * it is: what a statement that waits is waiting for.
 */
void condition_of_wait(const char *source, int line, struct condition *c);
/* The condition of the innermost loop around the line: the loop goes on while it is true. */
void condition_of_loop(const char *source, int line, struct condition *c);
/* One of these, at the statement of a frame. */
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
/* Does the line only set a member of what a variable points to, to a constant, as "p->n = 0;"? The variable's name,
 * malloc'd, else NULL. Pure. */
char *condition_member_set(const char *line);
/* Does the line only assign a variable, as "p->n = n;"? That one's name, malloc'd, else NULL. Pure. */
char *condition_name_assigned(const char *line);
/* A condition that holds if the statement is not executed: it is true while all is well. malloc'd. */
char *condition_good(const struct condition *c);
void condition_fini(struct condition *c);

/* Does a line of source only test a condition, and have no statement after it, nor set anything in it? Pure. */
bool condition_only_tests(const char *line);

/* Does the loop go along a list, by "NAME = NAME->FIELD"? *name and *field, malloc'd. Pure. */
bool condition_list_walked(const char *loop, char **name, char **field);
/* The array, as "p->names", to an element of which a statement assigns, if it assigns to one and to nothing that is not
 * clear; malloc'd, else NULL. Pure. */
char *condition_assigned_array(const char *statement);

/*
 * Is a condition, in which the variables of a frame were replaced by their values, about numbers alone, as
 * "!(((int)0x3) == 3)"? No statement can change its value. false: it is not, or that is not known. Pure.
 */
bool condition_is_of_numbers(const char *expr);

#endif
