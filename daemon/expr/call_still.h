/* SPDX-License-Identifier: MIT */
/* call_still.h: what calls_still (call.h) keeps from one evaluation to the next. */
#ifndef FRED_EXPR_CALL_STILL_H
#define FRED_EXPR_CALL_STILL_H

struct call_still;

struct call_still *call_still_new(void);
/* NULL is fine. */
void call_still_free(struct call_still *s);

#endif
