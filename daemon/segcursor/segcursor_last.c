/* SPDX-License-Identifier: MIT */
/*
 * segcursor_last.c: the last stop before `now`, or of the whole segment, at a cost that does not depend on the number
 * of stops before it. They are counted by a walk (segcursor_walk.c) if that is possible. Else a stop near the last one
 * is searched for by CPU time, which need not be exact, and the stops after it are counted. Where now's PC is passed
 * very often, walks tell whether a stop is before now.
 */
#include <string.h>

#include "segcursor/segcursor_int.h"

#define NEAR_NS 60000u /* of CPU time: smaller differences cannot be told apart */
#define HALVINGS 60

/* Goes to the kth stop of a copy of `from`, a mark or the base; marks: how many marks are before it. */
static int go_to(struct segcur *in, struct trace *from, struct breaks *b, uint64_t k, unsigned marks, struct stop *stop,
		 struct err *e)
{
	struct trace t;
	int sig = 0, r = segcur_run_to_nth(in, from, b, k, &t, &sig, stop, e);

	if (!r)
		segcur_be_now(in, &t, sig, marks);
	return r > 0 ? err_set(e, ERR_INTERNAL, "a stop after event %llu could not be reached again",
			       (unsigned long long)in->n)
		     : r;
}

/*
 * The last stop among the last `within` arrivals at now's PC. 2: none is among these, but one may be before them.
 * times: all arrivals from the first mark up to now.
 */
static int last_within(struct segcur *in, struct breaks *b, struct goal *g, uint64_t times, uint64_t within,
		       struct stop *stop, struct err *e)
{
	struct trace from;
	uint64_t k = 0;
	int r;

	if (times <= within)
		return 2;
	r = segcur_walk_to_nth(in, &in->mark[0], &g->stop, times - within, &from, e);
	if (r)
		return r < 0 ? -1 : 2;
	r = segcur_count_to(in, &from, b, g, 0, &k, e);
	if (!r)
		r = k ? go_to(in, &from, b, k, 1, stop, e) : 2;
	segcur_drop(&from);
	return r;
}

/* Is the kth stop before now? 1: yes; 0: no; 2: not known. A copy walks on from the stop: does it come to now? */
static int is_before(struct segcur *in, struct breaks *b, struct goal *g, uint64_t k, struct err *e)
{
	struct stop stop = {0};
	struct walked w;
	struct trace t;
	int sig, r = segcur_run_to_nth(in, &in->base, b, k, &t, &sig, &stop, e);

	if (r)
		return r < 0 ? -1 : 0;
	r = segcur_is_goal(g, &t, e);
	if (r > 0) {
		r = stop.kind == STOP_WATCH;
	} else if (!r) {
		r = segcur_walk_to_goal(in, &t, g, NULL, &w, e);
		if (!r)
			segcur_drop(&w.t);
		r = r < 0 ? -1 : r == SEGCUR_WALK_OVER ? 0 : r ? 2 : 1;
	}
	segcur_drop(&t);
	return r;
}

/* The last of all stops in the segment, by bisection. 2: there are too many, or it is not possible. */
static int last_of_few(struct segcur *in, struct breaks *b, struct goal *g, struct stop *stop, struct err *e)
{
	uint64_t before = 0, after;
	struct goal end = {0};
	int r = segcur_count_to(in, &in->base, b, &end, SEGCUR_MANY, &after, e);

	if (r)
		return r < 0 ? -1 : 2;
	for (after++; before + 1 < after;) {
		uint64_t k = before + (after - before) / 2;

		r = is_before(in, b, g, k, e);
		if (r < 0 || r == 2)
			return r;
		*(r ? &before : &after) = k;
	}
	return before ? go_to(in, &in->base, b, before, 1, stop, e) : 1;
}

/*
 * For a `now` whose PC is passed very often: quick if the stop is in the last rounds, or if there are few stops; else
 * it takes long.
 */
static int last_of_hot(struct segcur *in, struct breaks *b, struct goal *g, uint64_t times, struct stop *stop,
		       struct err *e)
{
	int r = last_within(in, b, g, times, SEGCUR_HOT, stop, e);

	if (r == 2)
		r = last_of_few(in, b, g, stop, e);
	for (uint64_t within = 30 * SEGCUR_HOT; r == 2 && within < times; within *= 30)
		r = last_within(in, b, g, times, within, stop, e);
	return r;
}

/* Counts from the base, however long that takes. */
static int last_of_all(struct segcur *in, struct breaks *b, struct goal *g, struct stop *stop, struct err *e)
{
	uint64_t k;

	if (segcur_count_to(in, &in->base, b, g, 0, &k, e))
		return -1;
	return k ? go_to(in, &in->base, b, k, 1, stop, e) : 1;
}

/* No stop was found after the first mark: looks before it. */
static int before_marks(struct segcur *in, struct breaks *b, struct stop *stop, struct err *e)
{
	uint64_t k;

	if (segcur_count_before_walks(in, b, &k, e))
		return -1;
	return k ? go_to(in, &in->base, b, k, 1, stop, e) : 1;
}

/* A stop before the goal, which need not be the last one. */
struct early {
	struct trace t;
	struct stop stop; /* kind 0: it is not a stop, but the first mark */
	uint64_t ns; /* CPU time from there to the goal */
};

/* Runs t to the first stop before the goal. 1: there is none, or none within the limit. */
static int to_first(struct segcur *in, struct trace *t, struct breaks *b, struct breaks *all, struct goal *g,
		    const struct trace_limit *limit, struct stop *stop, struct err *e)
{
	int sig = 0;

	for (unsigned i = 0;; i++) {
		int r = i ? segcur_onwards(in, t, &sig, all, stop, e)
			  : segcur_run_copy(in, t, &sig, all, limit, stop, e);

		if (r)
			return r;
		if (stop->kind == STOP_INTERRUPT)
			return err_set(e, ERR_CANCELLED, "interrupted");
		if (stop->kind == STOP_OVER || stop->kind == STOP_LIMIT)
			return 1;
		r = segcur_is_goal(g, t, e);
		if (r)
			return r < 0 ? -1 : stop->kind != STOP_WATCH;
		r = segcur_is_stop(b, t, stop->kind, e);
		if (r)
			return r < 0 ? -1 : 0;
		if (stop->kind == STOP_SIGNAL)
			sig = -stop->sig;
	}
}

/* The first stop that comes some time (ns) after another one, if it comes soon. 1: there is none. */
static int stop_after(struct segcur *in, struct early *from, uint64_t ns, struct breaks *b, struct goal *g,
		      struct early *to, struct err *e)
{
	struct trace_limit limit = {.cpu_ns = ns + ns / 4};
	struct breaks all = {0};
	uint64_t ran = 0;
	int r;

	*to = (struct early){.ns = from->ns};
	if (segcur_copy(in, &from->t, &to->t, e))
		return -1;
	r = segcur_run_to_goal(in, g, &to->t, ns, 0, &ran, e);
	if (r >= 0 && r != SEGCUR_SHORT) {
		segcur_drop(&to->t);
		return 1;
	}
	breaks_add_all(&all, b);
	if (g->want)
		breaks_add(&all, g->pc, 0);
	if (r == SEGCUR_SHORT)
		r = to_first(in, &to->t, b, &all, g, &limit, &to->stop, e);
	if (!r)
		r = trace_cpu_ns(to->t.pid, &ran, e);
	breaks_fini(&all);
	to->ns += ran;
	if (r)
		segcur_drop(&to->t);
	return r;
}

/* Brings *lo near the last stop, by bisection; then the stops after *lo are to be counted. */
static int come_near(struct segcur *in, struct breaks *b, struct goal *g, uint64_t high, struct early *lo,
		     struct err *e)
{
	for (unsigned i = 0; i < HALVINGS && lo->ns + NEAR_NS < high; i++) {
		uint64_t part = (high - lo->ns) / 2;
		struct early at;
		int r = stop_after(in, lo, part, b, g, &at, e);

		if (r < 0)
			return -1;
		if (r) {
			high = lo->ns + part;
			continue;
		}
		segcur_drop(&lo->t);
		*lo = at;
	}
	return 0;
}

/* Searches from a state some hundred steps before the goal. 1: there is none. */
static int last_of_near(struct segcur *in, struct breaks *b, struct goal *g, struct stop *stop, struct err *e)
{
	uint64_t steps, k;

	in->counted = false; /* from now on steps are counted from another mark */
	if (segcur_count_back(in, g, &steps, e) || segcur_count_to(in, &in->mark[in->marks - 1], b, g, 0, &k, e))
		return -1;
	return k ? go_to(in, &in->mark[in->marks - 1], b, k, in->marks, stop, e) : 1;
}

/* Moves *lo from the first mark to a stop near the last one. 2: the goal's PC is passed very often. */
static int approach(struct segcur *in, struct breaks *b, struct goal *g, struct early *lo, struct err *e)
{
	uint64_t high, before = UINT64_MAX;

	/* each copy itself costs some time, which adds up */
	while (lo->ns = 0, true) {
		int r = segcur_distance(in, &lo->t, g, SEGCUR_HOT, &high, e);

		if (r == SEGCUR_TOO_HOT)
			return 2;
		if (r == SEGCUR_PASSED)
			return err_set(e, ERR_INTERNAL, "the state here could not be reached again after event %llu",
				       (unsigned long long)in->n);
		if (r || high > before / 2)
			return r;
		before = high;
		if (come_near(in, b, g, high, lo, e))
			return -1;
	}
}

/* The last stop after the first mark. 1: there is none. 2: as approach. */
static int last_of_many(struct segcur *in, struct breaks *b, struct goal *g, struct stop *stop, struct err *e)
{
	struct early lo = {0};
	uint64_t k;
	int r;

	if (segcur_copy(in, &in->mark[0], &lo.t, e))
		return -1;
	r = approach(in, b, g, &lo, e);
	if (!r)
		r = segcur_count_to(in, &lo.t, b, g, 0, &k, e);
	if (!r && k) {
		r = go_to(in, &lo.t, b, k, 1, stop, e);
	} else if (!r && lo.stop.kind) {
		*stop = lo.stop;
		segcur_be_now(in, &lo.t, 0, 1);
	} else if (!r) {
		r = 1;
	}
	segcur_drop(&lo.t);
	return r;
}

/* Searches near the goal first, then from the first mark. Returns as last_of_many. */
static int last_of_some(struct segcur *in, struct breaks *b, struct goal *g, struct stop *stop, struct err *e)
{
	int r = last_of_near(in, b, g, stop, e);

	return r > 0 ? last_of_many(in, b, g, stop, e) : r;
}

/* In a library, the goal may be before the first mark. */
static bool is_after_mark(const struct segcur *in, const struct goal *g)
{
	return in->marks && (!g->want || visibility_is_certain(&in->visibility, g->pc));
}

/*
 * Goes there by a walk, too, since a walk counts words that the recorder writes in another way. k: counted from the
 * first mark.
 */
static int to_walked(struct segcur *in, struct breaks *b, uint64_t k, struct stop *stop, struct err *e)
{
	int r = segcur_is_plain(in, b) ? 1 : segcur_walk_to_stop(in, b, k, stop, e);
	uint64_t before;

	if (r <= 0)
		return r;
	return segcur_count_before_walks(in, b, &before, e) ? -1 : segcur_nth_stop(in, b, before + k, stop, e);
}

/* 2: not possible. Stops before the first mark are counted only if there is none after it. */
static int last_by_walk(struct segcur *in, struct breaks *b, struct goal *g, struct stop *stop, struct err *e)
{
	uint64_t k;
	int r = !in->marks ? 1 : g->want ? segcur_count_walked(in, b, g, &k, e) : segcur_walk_all(in, b, &k, e);

	if (r)
		return r < 0 ? -1 : 2;
	return k ? to_walked(in, b, k, stop, e) : before_marks(in, b, stop, e);
}

/* For stops that are too many to be met one by one, if a walk cannot be used. */
static int last_to(struct segcur *in, struct breaks *b, struct goal *g, struct stop *stop, struct err *e)
{
	uint64_t times = 0;
	int r;

	if (!is_after_mark(in, g))
		return last_of_all(in, b, g, stop, e);
	r = g->want ? segcur_walk_times(in, g, &times, e) : 1;
	if (r < 0)
		return -1;
	if (times > SEGCUR_HOT)
		r = last_of_hot(in, b, g, times, stop, e);
	else if ((r = last_of_some(in, b, g, stop, e)) == 1)
		return before_marks(in, b, stop, e);
	return r == 2 ? last_of_all(in, b, g, stop, e) : r;
}

int segcur_to_counted(struct segcur *in, struct breaks *b, struct segcur_count *c, struct stop *stop, struct err *e)
{
	struct trace *from = &in->base;
	uint64_t k, over = in->over < c->k ? in->over : c->k - 1;

	if (!c->k)
		return 1;
	in->over -= over;
	k = c->k -= over;
	if (c->near.t.pid && c->near.k <= k) {
		from = &c->near.t;
		k -= c->near.k;
		if (c->near.stop.kind == STOP_BREAK)
			k++; /* the present stop is met once more */
		*stop = c->near.stop;
	}
	if (go_to(in, from, b, k, in->marks ? 1 : 0, stop, e))
		return -1;
	/* the next step back counts from there */
	if (in->marks && c->before.t.pid && c->before.k < c->k)
		segcur_push_mark(in, &c->before.t, 0);
	return 0;
}

/* Meets the stops one by one. 2: there are too many or, with hurry, a walk is quicker. */
static int last_of_counted(struct segcur *in, struct breaks *b, struct goal *g, bool hurry, struct stop *stop,
			   struct err *e)
{
	struct segcur_count c;
	int r = segcur_count_keeping(in, b, g, hurry, &c, e);

	if (!r)
		r = segcur_to_counted(in, b, &c, stop, e);
	else if (r > 0)
		r = 2;
	segcur_count_fini(&c);
	return r;
}

/* Up to the goal. */
static int last_before(struct segcur *in, struct breaks *b, struct goal *g, struct stop *stop, struct err *e)
{
	bool conditional = segcur_has_conditions(b), can_walk = in->marks > 0,
	     hurry = can_walk && segcur_conditions_walkable(in, b), hurried = hurry && in->walks;
	int r = hurried ? 2 : last_of_counted(in, b, g, hurry, stop, e);

	if (r != 2)
		return r;
	hurried |= in->hurried;
	r = !conditional ? last_by_walk(in, b, g, stop, e) : can_walk ? segcur_last_true(in, b, g, stop, e) : 2;
	if (r == 1 && conditional)
		return before_marks(in, b, stop, e);
	if (r == 2 && hurried)
		r = last_of_counted(in, b, g, false, stop, e);
	return r == 2 ? last_to(in, b, g, stop, e) : r;
}

int segcur_back_to_stop(struct segcur *in, struct breaks *b, struct stop *stop, struct err *e)
{
	struct goal g;
	int r;

	if (segcur_goal_init(&g, &in->now, e))
		return -1;
	r = last_before(in, b, &g, stop, e);
	breaks_fini(&g.stop);
	return r;
}

int segcur_last_stop(struct segcur *in, struct breaks *b, struct stop *stop, struct err *e)
{
	struct goal end = {0};
	int r;

	if (segcur_ends_in_program(in))
		return segcur_to_end(in, e) ? -1 : segcur_back_to_stop(in, b, stop, e);
	r = last_before(in, b, &end, stop, e);
	breaks_fini(&end.stop);
	return r;
}
