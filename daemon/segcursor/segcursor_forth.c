/* SPDX-License-Identifier: MIT */
/*
 * segcursor_forth.c: moves from `now` to the next stop. A copy runs from stop to stop; where watched words are written
 * very often without a stop, it continues by a walk (segcursor_walk.c), which passes such a write in some nanoseconds.
 */
#include <string.h>

#include "segcursor/segcursor_int.h"

/* Walks to the first of the points, without watching words. */
static int walk_to_point(struct segcur *in, const struct breaks *b, struct trace *t, struct stop *stop, struct err *e)
{
	struct breaks points = {.view = b->view};
	struct trace_walk w = {.ask.nth = 1};
	int r;

	breaks_add_all(&points, b);
	memset(points.watch, 0, sizeof(points.watch));
	r = segcur_walk_from_now(in, &points, &w, t, stop, e);
	breaks_fini(&points);
	return r;
}

/* Walks to the first change at which a condition is true. */
static int walk_to_change(struct segcur *in, const struct breaks *b, struct segcur_look *l, struct trace *t,
			  struct stop *stop, struct err *e)
{
	struct trace_walk w = {.ask.nth_change = l->last};
	struct breaks only = {.watch_conditions = b->watch_conditions};
	int r;

	memcpy(only.watch, b->watch, sizeof(only.watch));
	l->change = NULL;
	in->look = l;
	r = segcur_walk_from_now(in, &only, &w, t, stop, e);
	in->look = NULL;
	if (!r)
		segcur_look_note(l, stop);
	else if (r > 0)
		segcur_drop(t);
	return r < 0 ? -1 : r > 0;
}

/* One walk evaluates the conditions at all changes, and another one goes to the first stop. */
static int walk_to_true(struct segcur *in, const struct breaks *b, struct trace *t, struct stop *stop, struct err *e)
{
	struct trace_walk w = {0};
	struct segcur_look l;
	int r;

	segcur_look_for_true(in, in->now.pid, b, &l);
	r = segcur_walk_from_now(in, b, &w, t, stop, e);
	in->look = NULL;
	if (r >= 0 && !w.resumed && r != 1 && !l.last && !w.ask.places)
		return r;
	segcur_drop(t);
	if (r < 0 || r == 1 || w.resumed)
		return r < 0 ? -1 : 1;
	return l.last && !l.places ? walk_to_change(in, b, &l, t, stop, e) : walk_to_point(in, b, t, stop, e);
}

/* 0: *t is at the next stop of b; 1: not possible by a walk; or as segcur_walk_from_now. */
static int walk_on(struct segcur *in, const struct breaks *b, struct trace *t, struct stop *stop, struct err *e)
{
	struct trace_walk w = {.ask.nth = 1};

	*t = (struct trace){0};
	return segcur_has_conditions(b) ? walk_to_true(in, b, t, stop, e) : segcur_walk_from_now(in, b, &w, t, stop, e);
}

/* `now` is where words are written very often. stop->kind 0: run on from there. */
static int walk(struct segcur *in, const struct breaks *b, struct stop *stop, struct err *e)
{
	struct trace t;
	int r = walk_on(in, b, &t, stop, e);

	if (r < 0 && e->kind == ERR_CANCELLED) {
		*stop = (struct stop){.kind = STOP_INTERRUPT};
		return 0;
	}
	if (r < 0)
		return -1;
	if (r)
		*stop = (struct stop){.kind = r == SEGCUR_WALK_OVER ? STOP_OVER : 0};
	if (!r || r == SEGCUR_WALK_LEFT)
		segcur_set_now(in, &t);
	in->patience = r == 1 ? 0 : in->patience;
	return 0;
}

int segcur_run(struct segcur *in, struct breaks *b, struct stop *stop, struct err *e)
{
	bool walks = segcur_conditions_walkable(in, b);
	uint64_t patience = walks ? SEGCUR_WRITES : 0;
	int sig = in->sig, r;

	in->counted = false;
	in->times = 0;
	in->patience = patience;
	r = segcur_onwards(in, &in->now, &sig, b, stop, e);
	while (!r && stop->kind == STOP_HOT) {
		in->patience = patience *= 2;
		r = walk(in, b, stop, e);
		if (!r && !stop->kind)
			r = segcur_run_copy(in, &in->now, &sig, b, NULL, stop, e);
	}
	in->patience = 0;
	if (r)
		return -1;
	in->sig = stop->kind == STOP_SIGNAL ? -stop->sig : sig;
	if (stop->kind == STOP_OVER)
		segcur_drop(&in->now);
	return 0;
}
