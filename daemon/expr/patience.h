/* SPDX-License-Identifier: MIT */
/*
 * patience.h: the time limit of a call that an expression makes, and the time that one command may spend in calls that
 * do not return. Limits are of the processor time of the copy that makes the call, and of the time in which it sleeps.
 */
#ifndef FRED_EXPR_PATIENCE_H
#define FRED_EXPR_PATIENCE_H

#include "expr/expr.h"

/* patience_new has one user; patience_share adds one, and returns the same object, which the last patience_drop frees.
 * NULL may be dropped. */
struct expr_patience *patience_new(void);
struct expr_patience *patience_share(struct expr_patience *p);
void patience_drop(struct expr_patience *p);
void patience_drop_at(struct expr_patience **p);
#define cleanup_patience __attribute__((cleanup(patience_drop_at)))

/* The limit of the next call. given_ms: the caller's own limit; 0: none. p: NULL: no call has been made. */
int patience_limit_ms(const struct expr_patience *p, int given_ms);
/* The user asked for a search that may take long: slow calls that return do not end it. */
void patience_take_time(struct expr_patience *p);
/* To be called after a call that returned: it took ns of processor time. */
void patience_returned(struct expr_patience *p, uint64_t ns);
/* To be called after each call, of the expression `what`. -1: too much time has gone into slow calls (ERR_USAGE). */
int patience_took(struct expr_patience *p, uint64_t ns, const char *what, struct err *e);
/*
 * To be called after a call that did not return within the limit; what: the expression; why: which call it is. -1: too
 * much time has gone into such calls (ERR_USAGE). Those with the short limits of guesses (watch/segment_search.c) are
 * not counted.
 */
int patience_overrun(struct expr_patience *p, int limit_ms, const char *what, const char *why, struct err *e);
/* Calls the above functions, as *v, the value of x, requires. */
int patience_note(const struct expr *x, int limit_ms, uint64_t ns, const struct expr_value *v, struct err *e);

#endif
