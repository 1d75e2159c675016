/* SPDX-License-Identifier: MIT */
/* cost.h: the time that is counted for an evaluation, where a budget is one of work (trace/budget.h). */
#ifndef FRED_EXPR_COST_H
#define FRED_EXPR_COST_H

#include "expr/expr.h"

/* Of the last evaluation of x. It depends on what that did, if it was by expr_eval_still; else it is a constant. */
uint64_t expr_cost_ns(const struct expr *x);

#endif
