/* SPDX-License-Identifier: MIT */
/*
 * segcursor_stops.c: the kth stop of a segment, and how many there are before `now`. Copies run and count
 * (segcursor_count.c); they walk (segcursor_walk.c) where there are very many stops, or where the state's PC is passed
 * very often.
 */
#include <string.h>

#include "segcursor/segcursor_int.h"

int segcur_walk_to_kth(struct segcur *in, struct breaks *b, uint64_t k, struct stop *stop, struct err *e)
{
	uint64_t before;

	if (segcur_count_before_walks(in, b, &before, e))
		return -1;
	return before < k ? segcur_walk_to_stop(in, b, k - before, stop, e) : 1;
}

#define TOO_HOT 2

/* TOO_HOT: words are written to too often, without a change. */
static int run_to_nth(struct segcur *in, struct breaks *b, uint64_t k, uint64_t patience, struct stop *stop, struct err *e)
{
	struct trace t;
	int sig = 0, r;

	in->patience = patience;
	r = segcur_run_to_nth(in, &in->base, b, k, &t, &sig, stop, e);
	in->patience = 0;
	if (!r)
		segcur_be_now(in, &t, sig, 1);
	return r > 0 && stop->kind == STOP_HOT ? TOO_HOT : r;
}

int segcur_nth_stop(struct segcur *in, struct breaks *b, uint64_t k, struct stop *stop, struct err *e)
{
	bool walks = in->marks && segcur_is_walkable(in, b);
	int r = walks && k > SEGCUR_STOPS ? segcur_walk_to_kth(in, b, k, stop, e) : 1;

	if (r > 0)
		r = run_to_nth(in, b, k, walks ? SEGCUR_WRITES : 0, stop, e);
	if (r != TOO_HOT)
		return r;
	r = segcur_walk_to_kth(in, b, k, stop, e);
	return r > 0 ? run_to_nth(in, b, k, 0, stop, e) : r;
}

int segcur_count_by_walk(struct segcur *in, struct breaks *b, struct goal *g, uint64_t *k, struct err *e)
{
	struct walked w;
	uint64_t before;
	int r = segcur_is_walkable(in, b) ? segcur_walk_to_goal(in, &in->mark[0], g, b, &w, e) : 1;

	if (r)
		return r;
	segcur_drop(&w.t);
	in->times = w.times;
	if (segcur_count_before_walks(in, b, &before, e))
		return -1;
	/* now is no stop before now, if it is none of a change */
	*k = before + w.stops - (breaks_has(b, g->pc) && !w.changed);
	return 0;
}

int segcur_count_stops(struct segcur *in, struct breaks *b, uint64_t *k, struct err *e)
{
	struct goal g;
	int r;

	if (segcur_goal_init(&g, &in->now, e))
		return -1;
	r = segcur_count_to(in, &in->base, b, &g, in->marks ? SEGCUR_STOPS : 0, k, e);
	if (r > 0)
		r = segcur_count_by_walk(in, b, &g, k, e);
	if (r > 0)
		r = segcur_count_to(in, &in->base, b, &g, 0, k, e);
	breaks_fini(&g.stop);
	return r;
}
