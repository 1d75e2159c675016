/* SPDX-License-Identifier: MIT */
/*
 * pred.c: see pred.h. One definite end fixes the meaning of all values: when errors count as good,
 * bad is exactly the right end's value; when they count as bad, good is exactly the left end's
 * value.
 */
#include "search/pred.h"

bool pred_differ(const struct pred *p)
{
	enum search_value definite = p->on_error == SEARCH_ON_ERROR_BAD ? p->left : p->right;

	return definite != SEARCH_ERROR && p->left != p->right;
}

bool pred_is_bad(const void *pred, enum search_value v)
{
	const struct pred *p = pred;

	return p->on_error == SEARCH_ON_ERROR_BAD ? v != p->left : v == p->right;
}
