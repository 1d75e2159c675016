/* SPDX-License-Identifier: MIT */
/*
 * inside_back.c: backwards inside a segment. The state before `now` is found from an earlier one, the last mark: a copy of
 * it goes on step by step until it is what `now` is, and another copy goes one step less (inside_near.c: from a near mark).
 */
#include <stdlib.h>
#include <string.h>

#include "debug/inside_int.h"
#include "debug/same.h"
#include "view/handlers.h"

#define COMPARE_MAX 300 /* of a whole memory */
#define STEPS_MARK 64 /* who steps back goes on stepping back: not further than this each time */

static int goal_init(struct goal *g, struct trace *want, struct err *e)
{
	memset(g, 0, sizeof(*g));
	g->want = want;
	if (!want)
		return 0;
	if (inside_pc(want, &g->pc, e))
		return -1;
	breaks_add(&g->stop, g->pc, 0);
	return 0;
}

int inside_is_goal(struct goal *g, struct trace *t, struct err *e)
{
	unsigned regs;
	size_t differ;
	uint64_t pc;
	int r;

	if (!g->want)
		return 0;
	if (inside_pc(t, &pc, e))
		return -1;
	if (pc != g->pc)
		return 0;
	r = same_registers(t, g->want, &regs, e);
	if (r <= 0 || regs)
		return r < 0 ? -1 : 0;
	return same_memory(t, g->want, &differ, e) ? -1 : differ == 0;
}

static int leave_mark(struct inside *in, struct trace *t, uint64_t steps, struct err *e)
{
	struct trace mark;

	if (inside_copy(in, t, &mark, e))
		return -1;
	inside_push_mark(in, &mark, steps);
	return 0;
}

/* now = the last mark and so many steps. */
static int go(struct inside *in, uint64_t steps, struct err *e)
{
	struct stop stop = {.kind = STOP_STEP};
	struct trace t;
	int sig = 0;

	if (inside_copy(in, &in->mark[in->marks - 1], &t, e))
		return -1;
	for (uint64_t i = 0; i < steps; i++) {
		if (steps - i == STEPS_MARK && i >= STEPS_MARK && !sig) {
			if (leave_mark(in, &t, i, e)) {
				inside_drop(&t);
				return -1;
			}
			steps -= i;
			i = 0;
		}
		if (inside_step_copy(in, &t, &sig, &stop, e)) {
			inside_drop(&t);
			return -1;
		}
		if (stop.kind == STOP_SIGNAL)
			sig = -stop.sig;
	}
	inside_set_now(in, &t);
	in->sig = sig;
	in->counted = true;
	in->steps = steps;
	return 0;
}

static void pop_mark(struct inside *in)
{
	inside_drop(&in->mark[--in->marks]);
}

/* The next stop of a copy that has made k of them already. */
static int next_stop(struct inside *in, struct trace *t, struct breaks *b, uint64_t k, int *sig,
		     struct stop *stop, struct err *e)
{
	int r = k ? inside_onwards(in, t, sig, b, stop, e) : inside_run_copy(in, t, sig, b, NULL, stop, e);

	if (!r && stop->kind == STOP_SIGNAL)
		*sig = -stop->sig;
	return !r && stop->kind == STOP_INTERRUPT ? err_set(e, ERR_CANCELLED, "interrupted") : r;
}

/* Runs a copy that is at the segment's start until it is at one of both: 1: at a; 0: at b, or not at all. */
static int which_comes_first(struct inside *in, struct trace *t, struct goal *a, struct goal *b, struct err *e)
{
	struct breaks both = {0};
	struct stop stop = {0};
	int sig = 0, r = 0;

	breaks_add(&both, a->pc, 0);
	breaks_add(&both, b->pc, 0);
	for (uint64_t i = 0; !r; i++) {
		r = next_stop(in, t, &both, i, &sig, &stop, e);
		if (r || stop.kind == STOP_OVER)
			break;
		r = inside_is_goal(b, t, e);
		if (r) {
			r = r < 0 ? -1 : 0;
			break;
		}
		r = inside_is_goal(a, t, e);
	}
	breaks_fini(&both);
	return r;
}

/* Is now in front of the first visible state? So it is when something stopped it in the shim: 1. */
static int is_early(struct inside *in, struct err *e)
{
	struct goal here = {0}, first = {0};
	struct trace t = {0};
	uint64_t pc;
	int r;

	if (in->counted || in->marks > 1)
		return 0;
	if (inside_pc(&in->now, &pc, e))
		return -1;
	if (sight_is_certain(&in->sight, pc))
		return 0;
	r = goal_init(&here, &in->now, e) || goal_init(&first, &in->mark[0], e) || inside_copy(in, &in->base, &t, e)
		    ? -1
		    : which_comes_first(in, &t, &here, &first, e);
	inside_drop(&t);
	breaks_fini(&here.stop);
	breaks_fini(&first.stop);
	return r;
}

int inside_back(struct inside *in, struct err *e)
{
	int early = in->blind ? 1 : is_early(in, e);

	if (early)
		return early;
	while (!in->counted || !in->steps) {
		struct goal g;
		uint64_t steps = 0;
		int r;

		/* at a mark: from the one before */
		if (in->counted && in->marks == 1)
			return 1;
		if (in->counted) {
			in->steps = in->mark_steps[in->marks - 1];
			pop_mark(in);
			if (in->steps)
				break;
		}
		r = goal_init(&g, &in->now, e) || inside_count_back(in, &g, &steps, e);
		breaks_fini(&g.stop);
		if (r)
			return -1;
		in->counted = true;
		in->steps = steps;
	}
	return go(in, in->steps - 1, e);
}

int inside_to_end(struct inside *in, struct err *e)
{
	struct goal g;
	uint64_t steps;

	if (goal_init(&g, NULL, e) || inside_count_back(in, &g, &steps, e))
		return -1;
	return go(in, steps, e);
}

/* Marks behind now would be wrong ends to go back from. */
static void forget_marks(struct inside *in)
{
	while (in->marks > 1)
		pop_mark(in);
}

/* The arrival at the goal's PC that is most like it: *best, counted from 1; 0: none has its registers. */
static int most_alike(struct inside *in, struct goal *g, struct trace *t, uint64_t *best, struct err *e)
{
	size_t least = (size_t)-1, differ;
	struct stop stop = {0};
	unsigned compared = 0, regs;
	int sig = 0;

	*best = 0;
	for (uint64_t i = 1; compared < COMPARE_MAX && least; i++) {
		int r;

		if (inside_to_arrival(in, g, t, &sig, NULL, &stop, e))
			return -1;
		if (stop.kind == STOP_OVER)
			break;
		r = same_registers(t, g->want, &regs, e);
		if (r < 0 || (r && same_memory(t, g->want, &differ, e)))
			return -1;
		compared += (unsigned)r;
		if (!r || differ + regs >= least)
			continue;
		least = differ + regs;
		*best = i;
	}
	return 0;
}

int inside_find(struct inside *in, struct trace *want, struct err *e)
{
	struct stop stop;
	struct goal g;
	struct trace t;
	uint64_t best;
	int r;

	if (goal_init(&g, want, e) || inside_copy(in, &in->base, &t, e))
		return -1;
	r = most_alike(in, &g, &t, &best, e);
	inside_drop(&t);
	if (!r)
		r = best ? inside_nth_stop(in, &g.stop, best, &stop, e) : 1;
	breaks_fini(&g.stop);
	return r;
}

int inside_nth_stop(struct inside *in, struct breaks *b, uint64_t k, struct stop *stop, struct err *e)
{
	struct trace t;
	int sig = 0, r = 0;

	if (inside_copy(in, &in->base, &t, e))
		return -1;
	for (uint64_t i = 0; i < k && !r; i++) {
		r = next_stop(in, &t, b, i, &sig, stop, e);
		if (!r && stop->kind == STOP_OVER)
			r = 1;
	}
	if (r) {
		inside_drop(&t);
		return r;
	}
	forget_marks(in);
	inside_set_now(in, &t);
	in->sig = sig;
	return 0;
}

/* Does the stop at which t stands count as one of b's? *to_now: it is seen one instruction later, and that is now. */
static int is_stop(struct inside *in, const struct breaks *b, struct trace *t, enum stop_kind kind, bool *to_now, struct err *e)
{
	struct user_regs_struct r, now;

	*to_now = false;
	if (kind == STOP_WATCH || kind == STOP_SIGNAL)
		return 1;
	if (trace_get_regs(t, &r, e))
		return -1;
	if (!breaks_has(b, r.rip) || !breaks_wanted(b, t))
		return 0;
	if (!breaks_has_handlers(b, r.rip))
		return 1;
	if (trace_get_regs(&in->now, &now, e))
		return -1;
	*to_now = handlers_leads_to(&r, &now);
	return 1;
}

/*
 * A data watchpoint traps behind its instruction: that stop is before now only if now is behind it too. A handler's stop is
 * its first instruction.
 */
int inside_count_stops(struct inside *in, struct breaks *b, uint64_t *k, struct err *e)
{
	struct breaks all = {0};
	struct stop stop;
	struct goal g;
	struct trace t;
	bool to_now = false;
	int sig = 0, r;

	*k = 0;
	if (goal_init(&g, &in->now, e) || inside_copy(in, &in->base, &t, e))
		return -1;
	breaks_add_all(&all, b);
	breaks_add(&all, g.pc, 0);
	for (uint64_t i = 0;; i++) {
		r = next_stop(in, &t, &all, i, &sig, &stop, e);
		if (!r && stop.kind == STOP_OVER)
			r = err_set(e, ERR_INTERNAL, "the state here is not met again behind event %llu",
				    (unsigned long long)in->n);
		if (r)
			break;
		r = inside_is_goal(&g, &t, e);
		if (r && stop.kind == STOP_WATCH)
			++*k;
		if (r > 0 && to_now)
			--*k;
		if (r)
			break;
		r = is_stop(in, b, &t, stop.kind, &to_now, e);
		if (r < 0)
			break;
		*k += (uint64_t)r;
	}
	inside_drop(&t);
	breaks_fini(&all);
	breaks_fini(&g.stop);
	return r < 0 ? -1 : 0;
}
