/* SPDX-License-Identifier: MIT */
/*
 * stage_hist.c: stage B, Search-Debug-History (FReD 3.2), on the timeline: the stops of the debug
 * history lie at known positions, so bisecting the history is bisecting these. A history of a
 * single `continue` has no stop inside and passes through. What lies between two stops is stage
 * C's. (The expansion of `continue` into `next` and `step`, for a history without positions, is
 * hist_search.)
 */
#include "search/walk.h"

int stage_hist(struct walk *w, struct err *e)
{
	uint64_t at;

	if (!w->ops->stop_before || !w->ops->stop_after)
		return 0;
	while (walk_choose(w, w->ops->stop_before, w->ops->stop_after, &at))
		if (walk_probe(w, at, e))
			return -1;
	return 0;
}
