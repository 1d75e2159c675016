/* SPDX-License-Identifier: MIT */
/* cost.h: what an evaluation counts for where work is counted (trace/budget.h). */
#ifndef FRED_EXPR_COST_H
#define FRED_EXPR_COST_H

#include "expr/expr.h"

/* The last one of x: by what it did, if expr_eval_still has made it; otherwise the same each time. */
uint64_t expr_cost_ns(const struct expr *x);

#endif
