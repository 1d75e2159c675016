/* SPDX-License-Identifier: MIT */
/* pred.h: which values of the expression are bad, given the two ends and the policy for errors. */
#ifndef FRED_SEARCH_PRED_H
#define FRED_SEARCH_PRED_H

#include "search/search.h"

struct pred {
	enum search_on_error on_error;
	enum search_value left, right;
};

/* True when the ends differ, that is, when there is a transition between them. */
bool pred_differ(const struct pred *p);
/*
 * Whether a value is good, bad or neither. NONE occurs only with NEITHER (search.h), and if the right end has a value.
 */
enum pred_side { PRED_GOOD, PRED_BAD, PRED_NONE };
enum pred_side pred_side(const struct pred *p, enum search_value v);
/* How a value counts. The ends differ. */
bool pred_is_bad(const struct pred *p, enum search_value v);

#endif
