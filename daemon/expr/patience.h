/* SPDX-License-Identifier: MIT */
/* patience.h: how long a call of an expression may take, and how many calls that do not return a command makes. */
#ifndef FRED_EXPR_PATIENCE_H
#define FRED_EXPR_PATIENCE_H

#include "expr/expr.h"

/* For struct expr; free() ends it. */
struct expr_patience *patience_new(void);
/* The limit for the next call. given_ms: the caller's; 0: none. */
int patience_ms(const struct expr *x, int given_ms);
/* A call with that limit took ns, and gave *v. -1: it did not return, as too many before it (ERR_USAGE). */
int patience_note(const struct expr *x, int limit_ms, uint64_t ns, const struct expr_value *v, struct err *e);

#endif
