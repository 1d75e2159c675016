/* SPDX-License-Identifier: MIT */
/*
 * search.h: reverse expression watchpoints (FReD section 3): the search for the transition between a good and a bad
 * position.
 */
#ifndef FRED_SEARCH_SEARCH_H
#define FRED_SEARCH_SEARCH_H

#include <stddef.h>

#include "search/ops.h"

/*
 * How a position counts at which the expression cannot be evaluated. NEITHER: as bad if the right end is such a
 * position, too (what is unreadable at the failure is bad); else as neither good nor bad. The bisection then takes it
 * as not bad; pred_side (pred.h) is for callers that need a change from a value to a value.
 */
enum search_on_error {
	SEARCH_ON_ERROR_NEITHER = 0,
	SEARCH_ON_ERROR_GOOD,
	SEARCH_ON_ERROR_BAD,
	SEARCH_ON_ERROR_FAIL,
};

struct search_params {
	uint64_t left, right; /* positions; left < right */
	enum search_on_error on_error;
	/* Evaluations allowed beyond the two ends and ceil(log2(right - left)). 0 is the
	 * theoretical bound; 1 or 2 let stage A stop at uneven distances, which saves
	 * running. */
	unsigned slack;
	/*
	 * Positions, rising, that stage A bisects: those at which a first replay makes checkpoints. Checkpoints that
	 * exist by chance decide nothing, so that each search of the same interval evaluates at the same positions.
	 */
	const uint64_t *cuts;
	size_t cuts_n;
	uint64_t checkpoint_cost_ns; /* estimate until one has been measured; 0: always take the
					first */
};

enum search_outcome {
	SEARCH_FOUND = 0,
	SEARCH_EQUAL, /* both ends count the same: see left_value, right_value */
};

struct search_result {
	enum search_outcome outcome;
	enum search_value left_value, right_value; /* at the two ends of the params */
	uint64_t left, right; /* good, bad; FOUND: right == left + 1 */
	struct search_costs stage[SEARCH_STAGES];
};

/*
 * Checks both ends and runs stages A to D. 0 with *r filled, or -1: an op failed, the search was cancelled
 * (ERR_CANCELLED), the params make no sense or, with SEARCH_ON_ERROR_FAIL, the expression could not be evaluated
 * (ERR_USAGE). r->stage is filled in each case.
 *
 * The good truth value is the one that the left end has (FReD 3.2: "we care only that the two Boolean values be
 * opposite").
 *
 * Evaluations up to stage C: at most 2 + ceil(log2(right - left)) + slack. Events run through: with checkpoints that
 * cost nothing at most the way to `right` once and the interval once more.
 */
int search_run(const struct search_ops *ops, void *ctx, const struct search_params *p, struct search_result *r,
	       struct err *e);

/* The sum over all stages. */
struct search_costs search_total(const struct search_costs stage[SEARCH_STAGES]);
/* "ends", "A", "B", "C", "D" */
const char *search_stage_name(enum search_stage s);

#endif
