/* SPDX-License-Identifier: MIT */
/*
 * stage_event.c: stage C, Search-Determ-Event-Log (FReD 3.2, 3.3): bisect the events to two
 * neighbours. A midpoint found good is checkpointed and becomes the left end, and the search goes
 * on from the live process; one found bad means a restart at the left end. Each probe runs through
 * at most half of what is left, so the whole stage runs through the interval about once.
 *
 * With weights (recorded times) a midpoint halves the time and not the number of events, as far as
 * the bound on evaluations allows.
 */
#include "search/walk.h"

/* The first position whose weight reaches the middle between the ends' weights. */
static uint64_t weighted_middle(const struct walk *w)
{
	uint64_t lo = w->b.left, hi = w->b.right;
	uint64_t from = w->ops->weight(w->ctx, lo), to = w->ops->weight(w->ctx, hi);
	uint64_t want = from + (to - from) / 2;

	if (to <= from)
		return bisect_middle(&w->b);
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (w->ops->weight(w->ctx, mid) < want)
			lo = mid;
		else
			hi = mid;
	}
	return hi;
}

int stage_event(struct walk *w, struct err *e)
{
	while (!bisect_done(&w->b)) {
		uint64_t mid = w->ops->weight ? weighted_middle(w) : bisect_middle(&w->b);

		if (walk_probe(w, bisect_clamp(&w->b, mid), e))
			return -1;
	}
	return 0;
}
