/* SPDX-License-Identifier: MIT */
/*
 * pred.c: see pred.h. One definite end fixes the meaning of all values: when errors count as good,
 * bad is exactly the right end's value; when they count as bad, good is exactly the left end's
 * value. When they count as neither, they are bad if the right end is one.
 */
#include "search/pred.h"

static bool errors_are_bad(const struct pred *p)
{
	return p->on_error == SEARCH_ON_ERROR_BAD ||
	       (p->on_error == SEARCH_ON_ERROR_NEITHER && p->right == SEARCH_ERROR);
}

bool pred_differ(const struct pred *p)
{
	enum search_value definite = errors_are_bad(p) ? p->left : p->right;

	return definite != SEARCH_ERROR && p->left != p->right;
}

bool pred_is_bad(const struct pred *p, enum search_value v)
{
	return errors_are_bad(p) ? v != p->left : v == p->right;
}

enum pred_side pred_side(const struct pred *p, enum search_value v)
{
	if (v == SEARCH_ERROR && p->right != SEARCH_ERROR && p->on_error == SEARCH_ON_ERROR_NEITHER)
		return PRED_NONE;
	return pred_is_bad(p, v) ? PRED_BAD : PRED_GOOD;
}
