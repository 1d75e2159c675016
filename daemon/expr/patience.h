/* SPDX-License-Identifier: MIT */
/*
 * patience.h: how long a call of an expression may take, and how many calls that do not return a command makes. Limits
 * are of the processor time of the copy that makes the call, and of the time in which it sleeps.
 */
#ifndef FRED_EXPR_PATIENCE_H
#define FRED_EXPR_PATIENCE_H

#include "expr/expr.h"

/* With one user; patience_share: one more, the same object. NULL may be dropped. */
struct expr_patience *patience_new(void);
struct expr_patience *patience_share(struct expr_patience *p);
void patience_drop(struct expr_patience *p);

/* For the next call. given_ms: the caller's; 0: none. p: NULL: no call has been made. */
int patience_limit_ms(const struct expr_patience *p, int given_ms);
/* A call took ns of processor time. */
void patience_returned(struct expr_patience *p, uint64_t ns);
/*
 * A call did not return within the limit; what: the expression. -1: as too many before it (ERR_USAGE). Those with the
 * short limits of guesses (watch/segment_search.c) are not counted.
 */
int patience_overrun(struct expr_patience *p, int limit_ms, const char *what, struct err *e);
/* The one or the other: *v is what the expression's calls gave. */
int patience_note(const struct expr *x, int limit_ms, uint64_t ns, const struct expr_value *v, struct err *e);

#endif
