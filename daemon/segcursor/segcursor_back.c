/* SPDX-License-Identifier: MIT */
/*
 * segcursor_back.c: backwards inside a segment. A copy of the last mark makes steps until its state equals `now`, which
 * gives their number; another copy makes one step less. segcursor_near.c sets a mark that is near enough for that.
 */
#include <stdlib.h>
#include <string.h>

#include "segcursor/segcursor_int.h"
#include "segcursor/state_equal.h"

#define COMPARE_MAX 300 /* the most states whose whole memory is compared */
#define STEPS_MARK 64 /* users who step back usually step back again, so marks are at most this far apart */

static int leave_mark(struct segcur *in, struct trace *t, uint64_t steps, struct err *e)
{
	struct trace mark;

	if (segcur_copy(in, t, &mark, e))
		return -1;
	segcur_push_mark(in, &mark, steps);
	return 0;
}

/* Sets `now` to the state that is this many steps after the last mark. */
static int go(struct segcur *in, uint64_t steps, struct err *e)
{
	struct stop stop = {.kind = STOP_STEP};
	struct trace t;
	int sig = 0;

	if (segcur_copy(in, &in->mark[in->marks - 1], &t, e))
		return -1;
	for (uint64_t i = 0; i < steps; i++) {
		if (steps - i == STEPS_MARK && i >= STEPS_MARK && !sig) {
			if (leave_mark(in, &t, i, e)) {
				segcur_drop(&t);
				return -1;
			}
			steps -= i;
			i = 0;
		}
		if (segcur_step_copy(in, &t, &sig, &stop, e)) {
			segcur_drop(&t);
			return -1;
		}
		if (stop.kind == STOP_OVER) {
			segcur_drop(&t);
			return err_set(e, ERR_INTERNAL, "the steps after event %llu differ in number from run to run",
				       (unsigned long long)in->n);
		}
		if (stop.kind == STOP_SIGNAL)
			sig = -stop.sig;
	}
	segcur_set_now(in, &t);
	in->sig = sig;
	in->counted = true;
	in->steps = steps;
	return 0;
}

static void pop_mark(struct segcur *in)
{
	segcur_drop(&in->mark[--in->marks]);
}

/* Runs a copy that is at the segment's start until it is at a or b. 1: at a; 0: at b, or at neither of them. */
static int which_comes_first(struct segcur *in, struct trace *t, struct goal *a, struct goal *b, struct err *e)
{
	struct breaks both = {0};
	struct stop stop = {0};
	int sig = 0, r = 0;

	breaks_add(&both, a->pc, 0);
	breaks_add(&both, b->pc, 0);
	for (uint64_t i = 0; !r; i++) {
		r = segcur_next_stop(in, t, &both, i, &sig, &stop, e);
		if (r || stop.kind == STOP_OVER)
			break;
		r = segcur_is_goal(b, t, e);
		if (r) {
			r = r < 0 ? -1 : 0;
			break;
		}
		r = segcur_is_goal(a, t, e);
	}
	breaks_fini(&both);
	return r;
}

/* 1: `now` is before the first visible state, for example if it was stopped in the shim. */
static int is_early(struct segcur *in, struct err *e)
{
	struct goal here = {0}, first = {0};
	struct trace t = {0};
	uint64_t pc;
	int r;

	if (in->counted || in->marks > 1)
		return 0;
	if (trace_get_pc(&in->now, &pc, e))
		return -1;
	if (visibility_is_certain(&in->visibility, pc))
		return 0;
	r = segcur_goal_init(&here, &in->now, e) || segcur_goal_init(&first, &in->mark[0], e) ||
			    segcur_copy(in, &in->base, &t, e)
		    ? -1
		    : which_comes_first(in, &t, &here, &first, e);
	segcur_drop(&t);
	breaks_fini(&here.stop);
	breaks_fini(&first.stop);
	return r;
}

int segcur_back(struct segcur *in, struct err *e)
{
	int early = in->blind ? 1 : is_early(in, e);

	if (early)
		return early;
	while (!in->counted || !in->steps) {
		struct goal g;
		uint64_t steps = 0;
		int r;

		/* `now` is at a mark: counts from the mark before it */
		if (in->counted && in->marks == 1)
			return 1;
		if (in->counted) {
			in->steps = in->mark_steps[in->marks - 1];
			pop_mark(in);
			if (in->steps)
				break;
		}
		r = segcur_goal_init(&g, &in->now, e) || segcur_count_back(in, &g, &steps, e);
		breaks_fini(&g.stop);
		if (r)
			return -1;
		in->counted = true;
		in->steps = steps;
	}
	return go(in, in->steps - 1, e);
}

int segcur_to_end(struct segcur *in, struct err *e)
{
	struct trace end;
	struct goal g;
	uint64_t steps;

	if (segcur_ends_in_program(in)) {
		if (segcur_find_end(in, e) || segcur_copy(in, &in->end, &end, e))
			return -1;
		segcur_set_now(in, &end);
		return 0;
	}
	if (segcur_goal_init(&g, NULL, e) || segcur_count_back(in, &g, &steps, e))
		return -1;
	return go(in, steps, e);
}

int segcur_count_all(struct segcur *in, struct breaks *b, uint64_t most, uint64_t *k, struct err *e)
{
	struct goal end = {0};
	uint64_t pc, before;
	int r;

	if (segcur_ends_in_program(in)) {
		if (segcur_to_end(in, e) || trace_get_pc(&in->now, &pc, e) || segcur_count_stops(in, b, k, e))
			return -1;
		*k += breaks_has(b, pc);
		return 0;
	}
	r = segcur_walk_all(in, b, k, e);
	if (r > 0)
		return segcur_count_to(in, &in->base, b, &end, most, k, e);
	if (r || segcur_count_before_walks(in, b, &before, e))
		return -1;
	*k += before;
	return 0;
}

static int differs(void *ctx, struct trace *t, const struct user_regs_struct *r, uint64_t least, uint64_t *differ,
		   struct err *e)
{
	struct goal *g = ctx;
	size_t words = 0;
	unsigned regs;
	int same = state_equal_registers(t, g->want, &regs, e);

	if (same <= 0 || state_equal_memory(t, g->want, &words, e))
		return same ? -1 : 0;
	*differ = words + regs;
	return 1;
}

/* SEGCUR_NONE: the state is not found. SEGCUR_CUT: its PC is passed very often. */
static int find_by_stops(struct segcur *in, struct goal *g, bool hot, struct err *e)
{
	struct segcur_similar s = {.pc = g->pc,
				   .differ = differs,
				   .ctx = g,
				   .most_arrivals = hot ? SEGCUR_HOT : 0,
				   .most_compared = COMPARE_MAX};

	return segcur_most_similar(in, &s, e);
}

/* SEGCUR_CUT: a walk cannot be used. */
static int find_by_walk(struct segcur *in, struct goal *g, struct err *e)
{
	struct walked w;
	int r = segcur_walk_to_goal(in, &in->mark[0], g, NULL, &w, e);

	if (r)
		return r < 0 ? -1 : SEGCUR_CUT;
	segcur_set_now(in, &w.t);
	in->times = w.times;
	return 0;
}

int segcur_find(struct segcur *in, struct trace *want, struct err *e)
{
	struct goal g;
	int r;

	if (segcur_goal_init(&g, want, e))
		return -1;
	r = find_by_stops(in, &g, in->marks > 0, e);
	if (r == SEGCUR_CUT)
		r = find_by_walk(in, &g, e);
	if (r == SEGCUR_CUT) /* if the segment ends in the program, this would never end */
		r = segcur_ends_in_program(in) ? 1 : find_by_stops(in, &g, false, e);
	breaks_fini(&g.stop);
	return r;
}
