/* SPDX-License-Identifier: MIT */
/* cost.c: see cost.h. */
#include "expr/cost.h"

#define IN_COPY_NS 5000000u /* in a copy of the process, mostly by GDB */
#define STILL_NS 5000u /* by expr_eval_still, without calls */

uint64_t expr_cost_ns(const struct expr *x)
{
	if (!expr_is_still(x))
		return IN_COPY_NS;
	return STILL_NS + (x->compiled ? 0 : calls_still_cost_ns(&x->calls));
}
