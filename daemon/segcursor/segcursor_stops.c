/* SPDX-License-Identifier: MIT */
/*
 * segcursor_stops.c: the kth stop of a segment, and how many there are before `now`. Copies run and count
 * (segcursor_count.c); they walk (segcursor_walk.c) where there are very many stops, or where the state's PC is passed
 * very often.
 */
#include <string.h>

#include "segcursor/segcursor_int.h"
#include "trace/budget.h"

int segcur_walk_to_kth(struct segcur *in, struct breaks *b, uint64_t k, struct stop *stop, struct err *e)
{
	uint64_t before;

	if (segcur_count_before_walks(in, b, &before, e))
		return -1;
	return before < k ? segcur_walk_to_stop(in, b, k - before, stop, e) : 1;
}

#define TOO_HOT 2

/* patience (0: no limit): used as in->patience, with in->hurry. TOO_HOT: that limit has ended it. */
static int run_to_nth(struct segcur *in, struct breaks *b, uint64_t k, uint64_t patience, struct stop *stop,
		      struct err *e)
{
	struct trace t;
	int sig = 0, r;

	in->patience = patience;
	in->hurry = patience > 0;
	r = segcur_run_to_nth(in, &in->base, b, k, &t, &sig, stop, e);
	in->hurry = false;
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

int segcur_count_walked(struct segcur *in, struct breaks *b, struct goal *g, uint64_t *k, struct err *e)
{
	struct walked w;
	int r = segcur_is_walkable(in, b) ? segcur_walk_to_goal(in, &in->mark[0], g, b, &w, e) : 1;

	if (r)
		return r;
	segcur_drop(&w.t);
	in->times = w.times;
	/* a stop at `now` itself is not before now, except if it is a change */
	*k = w.stops - (breaks_has(b, g->pc) && !w.changed);
	return 0;
}

int segcur_count_by_walk(struct segcur *in, struct breaks *b, struct goal *g, uint64_t *k, struct err *e)
{
	uint64_t before;
	int r = segcur_count_walked(in, b, g, k, e);

	if (r)
		return r;
	if (segcur_count_before_walks(in, b, &before, e))
		return -1;
	*k += before;
	return 0;
}

int segcur_count_stops(struct segcur *in, struct breaks *b, uint64_t *k, struct err *e)
{
	struct goal g;
	int r;

	if (segcur_goal_init(&g, &in->now, e))
		return -1;
	in->hurry = in->marks && segcur_is_walkable(in, b);
	r = segcur_count_to(in, &in->base, b, &g, in->marks ? SEGCUR_STOPS : 0, k, e);
	in->hurry = false;
	if (r > 0)
		r = segcur_count_by_walk(in, b, &g, k, e);
	if (r > 0)
		r = segcur_count_to(in, &in->base, b, &g, 0, k, e);
	breaks_fini(&g.stop);
	return r;
}

/* Walks from stop to stop of b, which become `now`, to the goal. 1: a walk cannot do this. */
static int walk_stops(struct segcur *in, bool fresh, struct breaks *b, struct goal *g, struct stop *stop, struct err *e)
{
	int r;

	do {
		r = segcur_walk_on(in, fresh, b, g, stop, e);
		fresh = false;
		if (!r && stop->kind == STOP_BREAK)
			stop->kind = segcur_meets(b, &in->now);
	} while (!r && !stop->kind);
	if (!r && stop->kind == STOP_GOAL)
		*stop = (struct stop){.kind = STOP_END};
	return r < 0 ? -1 : r > 0;
}

int segcur_walk_until(struct segcur *in, bool fresh, const struct breaks *b, uint64_t pc, uint64_t hits,
		      struct stop *stop, struct err *e)
{
	struct breaks user = {0}, at = {0};
	struct trace there = {0};
	struct goal g = {0};
	uint64_t before = 0;
	int r = 1;

	if (hits <= SEGCUR_HOT || (b && breaks_has(b, pc)) || !in->marks)
		return 1;
	if (b)
		breaks_add_all(&user, b);
	breaks_add(&at, pc, 0);
	if (segcur_count_before_walks(in, &at, &before, e))
		r = -1;
	else if (before < hits)
		r = segcur_walk_to_nth(in, &in->mark[0], &at, hits - before, &there, e);
	if (!r) {
		r = segcur_goal_init(&g, &there, e) ? -1 : walk_stops(in, fresh, &user, &g, stop, e);
		segcur_drop(&there);
	}
	breaks_fini(&g.stop);
	breaks_fini(&at);
	breaks_fini(&user);
	return r < 0 ? -1 : r > 0;
}

/* t has arrived at s->pc once more. 1: no state can be more similar. */
static int compare(struct segcur_similar *s, struct trace *t, struct err *e)
{
	struct user_regs_struct regs;
	uint64_t differ = 0;
	int r;

	s->arrivals++;
	if (trace_get_regs(t, &regs, e))
		return -1;
	r = s->differ(s->ctx, t, &regs, s->best ? s->least : UINT64_MAX, &differ, e);
	if (r <= 0)
		return r;
	s->compared++;
	if (s->best && differ >= s->least)
		return 0;
	s->best = s->arrivals;
	s->least = differ;
	return !differ;
}

/*
 * t, a copy of the base, goes through the segment. 1: it is exactly in this state; 0: the whole segment was searched;
 * or SEGCUR_CUT.
 */
static int look_through(struct segcur *in, struct segcur_similar *s, struct trace *t, struct breaks *at, int *sig,
			struct err *e)
{
	struct trace_budget budget = {0};
	struct stop stop = {0};
	int r = 0;

	if (s->budget_ns)
		trace_budget_begin(&budget, s->budget_ns, t->pid);
	for (uint64_t i = 0; !r; i++) {
		if (segcur_next_stop(in, t, at, i, sig, &stop, e))
			return -1;
		if (stop.kind == STOP_OVER)
			return 0;
		if (s->most_arrivals && s->arrivals >= s->most_arrivals)
			return SEGCUR_CUT;
		if (stop.kind == STOP_BREAK)
			r = compare(s, t, e);
		if (!r && s->most_compared && s->compared >= s->most_compared)
			return 0;
		if (!r && s->budget_ns && trace_budget_is_over(&budget, t->pid))
			return SEGCUR_CUT;
	}
	return r;
}

int segcur_most_similar(struct segcur *in, struct segcur_similar *s, struct err *e)
{
	struct trace t = {0};
	struct breaks at = {0};
	struct stop stop;
	int sig = 0, r;

	breaks_add(&at, s->pc, 0);
	r = segcur_copy(in, &in->base, &t, e) ? -1 : look_through(in, s, &t, &at, &sig, e);
	if (r == 1) {
		segcur_be_now(in, &t, sig, in->marks ? 1 : 0);
		r = 0;
	} else {
		segcur_drop(&t);
		if (r == SEGCUR_CUT && s->best && s->cut_will_do)
			r = 0;
		if (!r)
			r = s->best ? segcur_nth_stop(in, &at, s->best, &stop, e) : SEGCUR_NONE;
	}
	breaks_fini(&at);
	return r;
}
