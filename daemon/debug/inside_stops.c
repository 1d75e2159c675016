/* SPDX-License-Identifier: MIT */
/*
 * inside_stops.c: stops in a segment: the kth, and how many there are before a state. Copies are run and count; where very
 * many stops are on the way, or the state's PC is passed very often, they walk (inside_walk.c).
 */
#include <string.h>

#include "debug/inside_int.h"

int inside_next_stop(struct inside *in, struct trace *t, struct breaks *b, uint64_t k, int *sig, struct stop *stop,
		     struct err *e)
{
	int r = k ? inside_onwards(in, t, sig, b, stop, e) : inside_run_copy(in, t, sig, b, NULL, stop, e);

	if (!r && stop->kind == STOP_SIGNAL)
		*sig = -stop->sig;
	return !r && stop->kind == STOP_INTERRUPT ? err_set(e, ERR_CANCELLED, "interrupted") : r;
}

void inside_be_now(struct inside *in, struct trace *t, int sig, unsigned marks)
{
	while (in->marks > marks)
		inside_drop(&in->mark[--in->marks]);
	inside_set_now(in, t);
	in->sig = sig;
}

int inside_run_to_nth(struct inside *in, struct trace *from, struct breaks *b, uint64_t k, struct trace *t, int *sig,
		      struct stop *stop, struct err *e)
{
	int r = 0;

	*sig = 0;
	if (inside_copy(in, from, t, e))
		return -1;
	for (uint64_t i = 0; i < k && !r; i++) {
		r = inside_next_stop(in, t, b, i, sig, stop, e);
		if (!r && (stop->kind == STOP_OVER || stop->kind == STOP_HOT))
			r = 1;
	}
	if (r)
		inside_drop(t);
	return r;
}

int inside_is_stop(const struct breaks *b, struct trace *t, enum stop_kind kind, struct err *e)
{
	uint64_t pc;

	if (kind == STOP_WATCH || kind == STOP_SIGNAL)
		return 1;
	if (trace_get_pc(t, &pc, e))
		return -1;
	return breaks_has(b, pc) && breaks_wanted(b, t);
}

#define KEEP_NS 50000000u /* of CPU time: which is not to be run again */

/* t stands at a stop of b, the last one so far. What waits for a signal, or cannot be seen, is no place to begin at. */
static int keep_near(struct inside *in, struct trace *t, struct inside_count *c, int sig, const struct stop *stop, struct err *e)
{
	struct inside_kept at = {.stop = *stop, .k = c->k};
	uint64_t pc;

	if (!c->keep || sig || (stop->kind != STOP_BREAK && stop->kind != STOP_WATCH))
		return 0;
	if (trace_cpu_ns(t->pid, &at.ns, e) || trace_get_pc(t, &pc, e))
		return -1;
	if (at.ns < c->near.ns + KEEP_NS || !sight_is_certain(&in->sight, pc))
		return 0;
	if (inside_copy(in, t, &at.t, e))
		return -1;
	inside_drop(&c->before.t);
	if (c->trail.last.t.pid && c->trail.last.ns > c->near.ns) {
		inside_drop(&c->near.t);
		c->before = c->trail.last;
		memset(&c->trail.last.t, 0, sizeof(c->trail.last.t));
	} else {
		c->before = c->near;
	}
	c->near = at;
	return 0;
}

/* Have there been too many? Comparing memory takes much longer than a stop. */
static bool is_too_many(const struct inside_count *c, const struct goal *g, uint64_t stops)
{
	return c->most && (stops > c->most || g->compared > INSIDE_HOT);
}

/* t comes to the goal, with *sig still to be delivered. b and the goal's PC are `all`. 1: there are too many on the way. */
static int count_with(struct inside *in, struct trace *t, struct breaks *b, struct breaks *all, struct goal *g,
		      struct inside_count *c, int *sig, struct err *e)
{
	struct stop stop;
	int r = 0;

	for (uint64_t i = 0; !r; i++) {
		r = inside_next_stop(in, t, all, i, sig, &stop, e);
		if (r)
			return r;
		if (stop.kind == STOP_HOT)
			return 1;
		if (stop.kind == STOP_OVER)
			return g->want ? err_set(e, ERR_INTERNAL, "the state here is not met again behind event %llu",
						 (unsigned long long)in->n)
				       : 0;
		r = inside_is_goal(g, t, e);
		if (r > 0)
			c->k += stop.kind == STOP_WATCH;
		if (r)
			return r < 0 ? -1 : 0;
		r = inside_is_stop(b, t, stop.kind, e);
		if (r < 0)
			return -1;
		c->k += (uint64_t)r;
		if (r && keep_near(in, t, c, *sig, &stop, e))
			return -1;
		r = is_too_many(c, g, i + 1);
	}
	return r;
}

int inside_count_rest(struct inside *in, struct trace *t, struct breaks *b, uint64_t *k, struct err *e)
{
	struct stop stop = {0};
	int sig = 0, r;

	for (*k = 0; !(r = inside_run_on(in, t, b, 1, &sig, &stop, e)); ++*k)
		if (*k == INSIDE_MANY)
			return 1;
	return r < 0 ? -1 : stop.kind != STOP_OVER;
}

int inside_run_on(struct inside *in, struct trace *t, struct breaks *b, uint64_t k, int *sig, struct stop *stop, struct err *e)
{
	int r = 0;

	in->patience = INSIDE_WRITES;
	while (k-- && !r) {
		r = inside_next_stop(in, t, b, 1, sig, stop, e);
		if (!r && (stop->kind == STOP_OVER || stop->kind == STOP_HOT))
			r = 1;
	}
	in->patience = 0;
	return r;
}

static int count_on(struct inside *in, struct trace *t, struct breaks *b, struct goal *g, struct inside_count *c, int *sig,
		    struct err *e)
{
	struct breaks all = {0};
	int r;

	*sig = 0;
	breaks_add_all(&all, b);
	if (g->want)
		breaks_add(&all, g->pc, 0);
	in->patience = c->most ? INSIDE_WRITES : 0;
	r = count_with(in, t, b, &all, g, c, sig, e);
	in->patience = 0;
	breaks_fini(&all);
	return r;
}

/* As that, of *t, a copy of the base, and with what makes the next ones short. */
static int count_keeping(struct inside *in, struct trace *t, struct breaks *b, struct goal *g, struct inside_count *c, int *sig,
			 struct err *e)
{
	int r;

	*c = (struct inside_count){.most = INSIDE_STOPS, .keep = true, .trail.k = &c->k};
	in->trail = &c->trail;
	r = inside_copy(in, &in->base, t, e) ? -1 : count_on(in, t, b, g, c, sig, e);
	in->trail = NULL;
	return r;
}

static int count_from(struct inside *in, struct trace *from, struct breaks *b, struct goal *g, struct inside_count *c, struct err *e)
{
	struct trace t;
	int sig, r;

	if (inside_copy(in, from, &t, e))
		return -1;
	r = count_on(in, &t, b, g, c, &sig, e);
	inside_drop(&t);
	return r;
}

int inside_count_to(struct inside *in, struct trace *from, struct breaks *b, struct goal *g, uint64_t most, uint64_t *k,
		    struct err *e)
{
	struct inside_count c = {.most = most};
	int r = count_from(in, from, b, g, &c, e);

	*k = c.k;
	return r;
}

int inside_count_keeping(struct inside *in, struct breaks *b, struct goal *g, struct inside_count *c, struct err *e)
{
	struct trace t = {0};
	int sig, r = count_keeping(in, &t, b, g, c, &sig, e);

	inside_drop(&t);
	return r;
}

int inside_find_counting(struct inside *in, struct trace *want, struct breaks *b, struct inside_count *c, struct err *e)
{
	struct trace t = {0};
	struct goal g;
	int sig, r;

	*c = (struct inside_count){0};
	if (inside_goal_init(&g, want, e))
		return -1;
	r = count_keeping(in, &t, b, &g, c, &sig, e);
	if (!r) {
		inside_be_now(in, &t, sig, in->marks ? 1 : 0);
		inside_mark_trail(in, &c->trail);
	} else {
		inside_drop(&t);
	}
	c->known = !r;
	breaks_fini(&g.stop);
	return r;
}

void inside_count_fini(struct inside_count *c)
{
	inside_drop(&c->trail.last.t);
	inside_drop(&c->near.t);
	inside_drop(&c->before.t);
}

int inside_count_before_walks(struct inside *in, struct breaks *b, uint64_t *k, struct err *e)
{
	struct goal g;
	int r;

	if (inside_goal_init(&g, &in->mark[0], e))
		return -1;
	r = inside_count_to(in, &in->base, b, &g, 0, k, e);
	breaks_fini(&g.stop);
	return r;
}

int inside_walk_to_kth(struct inside *in, struct breaks *b, uint64_t k, struct stop *stop, struct err *e)
{
	uint64_t before;

	if (inside_count_before_walks(in, b, &before, e))
		return -1;
	return before < k ? inside_walk_to_stop(in, b, k - before, stop, e) : 1;
}

#define TOO_HOT 2

/* TOO_HOT: words are written to too often, without a change. */
static int run_to_nth(struct inside *in, struct breaks *b, uint64_t k, uint64_t patience, struct stop *stop, struct err *e)
{
	struct trace t;
	int sig = 0, r;

	in->patience = patience;
	r = inside_run_to_nth(in, &in->base, b, k, &t, &sig, stop, e);
	in->patience = 0;
	if (!r)
		inside_be_now(in, &t, sig, 1);
	return r > 0 && stop->kind == STOP_HOT ? TOO_HOT : r;
}

int inside_nth_stop(struct inside *in, struct breaks *b, uint64_t k, struct stop *stop, struct err *e)
{
	bool walks = in->marks && inside_is_walkable(in, b);
	int r = walks && k > INSIDE_STOPS ? inside_walk_to_kth(in, b, k, stop, e) : 1;

	if (r > 0)
		r = run_to_nth(in, b, k, walks ? INSIDE_WRITES : 0, stop, e);
	if (r != TOO_HOT)
		return r;
	r = inside_walk_to_kth(in, b, k, stop, e);
	return r > 0 ? run_to_nth(in, b, k, 0, stop, e) : r;
}

int inside_count_by_walk(struct inside *in, struct breaks *b, struct goal *g, uint64_t *k, struct err *e)
{
	struct walked w;
	uint64_t before;
	int r = inside_is_walkable(in, b) ? inside_walk_to_goal(in, &in->mark[0], g, b, &w, e) : 1;

	if (r)
		return r;
	inside_drop(&w.t);
	in->times = w.times;
	if (inside_count_before_walks(in, b, &before, e))
		return -1;
	/* now is no stop before now, if it is none of a change */
	*k = before + w.stops - (breaks_has(b, g->pc) && !w.changed);
	return 0;
}

int inside_count_stops(struct inside *in, struct breaks *b, uint64_t *k, struct err *e)
{
	struct goal g;
	int r;

	if (inside_goal_init(&g, &in->now, e))
		return -1;
	r = inside_count_to(in, &in->base, b, &g, in->marks ? INSIDE_STOPS : 0, k, e);
	if (r > 0)
		r = inside_count_by_walk(in, b, &g, k, e);
	if (r > 0)
		r = inside_count_to(in, &in->base, b, &g, 0, k, e);
	breaks_fini(&g.stop);
	return r;
}
