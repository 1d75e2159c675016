/* SPDX-License-Identifier: MIT */
/*
 * hist_search.h: stage B, Search-Debug-History, on a history alone (FReD 3.2, 3.3): bisect the
 * commands, expand the one in which the expression turns into finer ones, and so on until it is a
 * single `step` (or `stepi`). A place found good is checkpointed and the search goes on from there.
 */
#ifndef FRED_SEARCH_HIST_SEARCH_H
#define FRED_SEARCH_HIST_SEARCH_H

#include "hist/cursor.h"
#include "search/search.h"

struct hist_search_ops {
	struct hist_ops debugger;
	int (*evaluate)(void *ctx, enum search_value *v, struct err *e);
	bool (*cancelled)(void *ctx); /* may be NULL */
};

struct hist_search_result {
	enum search_outcome outcome;
	enum search_value left_value, right_value;
	struct hist good; /* FOUND: leads to the last good place; one more `last` makes it bad */
	enum hist_cmd last;
	uint64_t evaluations, restarts, checkpoints;
};

/* The ends of h must differ, as in search_run. 0, or -1 with e set. hist_search_result_fini in any
 * case. h is not changed. */
int hist_search(const struct hist_search_ops *ops, void *ctx, const struct hist *h,
		enum search_on_error on_error, struct hist_search_result *r, struct err *e);
void hist_search_result_fini(struct hist_search_result *r);

#endif
