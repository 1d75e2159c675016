/* SPDX-License-Identifier: MIT */
/*
 * inside_back.c: backwards inside a segment. The state before `now` is found from an earlier one, the last mark: a copy of
 * it goes on step by step until it is what `now` is, and another copy goes one step less. When that is too far, the mark is
 * first brought nearer by CPU time: a copy that has run for most of the way and has not met `now` becomes a mark.
 */
#include <stdlib.h>
#include <string.h>

#include "debug/inside_int.h"
#include "debug/same.h"

#define NEAR_NS 40000u /* so near that it is stepped */
#define LEAST_NS 15000u
#define STEPS_FAR 200000u
#define TRIES 40
#define LIBC_STEPS 3000
#define COMPARE_MAX 300 /* of a whole memory */

enum reach { REACHED = 0, PASSED = 1, SHORT = 2 };

static int goal_init(struct goal *g, struct trace *want, struct err *e)
{
	memset(g, 0, sizeof(*g));
	g->want = want;
	if (!want)
		return 0;
	if (inside_pc(want, &g->pc, e))
		return -1;
	breaks_add(&g->stop, g->pc);
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

/* From an arrival that was not the goal: over its int3. 1: there was none. */
static int step_off(struct inside *in, struct goal *g, struct trace *t, int *sig, struct stop *stop,
		    struct err *e)
{
	uint64_t pc;

	if (!g->want)
		return 1;
	if (inside_pc(t, &pc, e))
		return -1;
	return pc == g->pc ? inside_step_copy(in, t, sig, stop, e) : 1;
}

/* On to the next time at the goal's PC, or the end of the segment, or of the time. */
static int to_arrival(struct inside *in, struct goal *g, struct trace *t, int *sig,
		      const struct trace_limit *limit, struct stop *stop, struct err *e)
{
	uint64_t pc;
	int r = step_off(in, g, t, sig, stop, e);

	if (r < 0)
		return -1;
	if (!r && stop->kind == STOP_SIGNAL)
		*sig = -stop->sig;
	if (!r && stop->kind == STOP_OVER)
		return 0;
	if (!r && (inside_pc(t, &pc, e) || pc == g->pc))
		return pc == g->pc ? 0 : -1;
	do {
		if (inside_run_copy(in, t, sig, &g->stop, limit, stop, e))
			return -1;
		if (stop->kind == STOP_SIGNAL)
			*sig = -stop->sig;
	} while (stop->kind == STOP_SIGNAL);
	return 0;
}

/* Runs a copy until it is at the goal, for at most limit_ns. *ns: the CPU time it was. */
static int run_to_goal(struct inside *in, struct goal *g, struct trace *t, uint64_t limit_ns, uint64_t *ns,
		       struct err *e)
{
	struct trace_limit limit = {.cpu_ns = limit_ns};
	struct stop stop = {0};
	uint64_t from, to;
	int sig = 0, r;

	if (trace_cpu_ns(t->pid, &from, e))
		return -1;
	for (to = from; !(r = inside_is_goal(g, t, e));) {
		if (to_arrival(in, g, t, &sig, limit_ns ? &limit : NULL, &stop, e))
			return -1;
		if (t->alive && trace_cpu_ns(t->pid, &to, e))
			return -1;
		*ns = to - from;
		if (stop.kind == STOP_OVER)
			return g->want ? PASSED : REACHED;
		if (limit_ns && (stop.kind == STOP_LIMIT || *ns >= limit_ns))
			return SHORT;
		limit.cpu_ns = limit_ns ? limit_ns - *ns : 0;
	}
	*ns = to - from;
	return r < 0 ? -1 : REACHED;
}

/* How far the goal is from the last mark, in CPU time. */
static int distance(struct inside *in, struct goal *g, uint64_t *ns, struct err *e)
{
	struct trace t;
	int r;

	if (inside_copy(in, &in->mark[in->marks - 1], &t, e))
		return -1;
	r = run_to_goal(in, g, &t, 0, ns, e);
	inside_drop(&t);
	return r;
}

static void push_mark(struct inside *in, struct trace *t)
{
	if (in->marks == INSIDE_MARKS) { /* the first one stays */
		inside_drop(&in->mark[1]);
		memmove(&in->mark[1], &in->mark[2], (INSIDE_MARKS - 2) * sizeof(in->mark[0]));
		in->marks--;
	}
	in->mark[in->marks++] = *t;
}

/*
 * A copy that time has stopped becomes a mark if it is visible and still before the goal. 1: it is not. In libc it may
 * have been called by the shim, so it goes on until it is out of there; one step in any case: a signal may be
 * under way to it.
 */
static int leave_libc(struct inside *in, struct goal *g, struct trace *t, struct err *e)
{
	struct stop stop;
	int sig = 0;

	for (unsigned i = 0; i < LIBC_STEPS; i++) {
		uint64_t pc;
		int r = inside_is_goal(g, t, e);

		if (r)
			return r;
		if (inside_step_copy(in, t, &sig, &stop, e) || inside_pc(t, &pc, e))
			return -1;
		if (stop.kind != STOP_STEP)
			return 1;
		if (!sig && sight_is_certain(&in->sight, pc))
			return inside_is_goal(g, t, e);
	}
	return 1;
}

static int make_visible(struct inside *in, struct goal *g, struct trace *t, struct err *e)
{
	int r;

	in->goal = g->want ? g : NULL;
	r = leave_libc(in, g, t, e);
	in->goal = NULL;
	return r;
}

/* Marks nearer to the goal, until it can be reached by steps. */
static int approach(struct inside *in, struct goal *g, struct err *e)
{
	uint64_t left, ran, part = 0;
	int r = distance(in, g, &left, e);

	for (unsigned i = 0; r == REACHED && left > NEAR_NS && i < TRIES; i++) {
		struct trace t;

		if (!part || part >= left)
			part = left - left / 6 - LEAST_NS;
		if (inside_copy(in, &in->mark[in->marks - 1], &t, e))
			return -1;
		r = run_to_goal(in, g, &t, part, &ran, e);
		if (r == SHORT) {
			int late = make_visible(in, g, &t, e);

			r = late < 0 ? -1 : late ? REACHED : SHORT;
		}
		if (r != SHORT) {
			inside_drop(&t);
			if (r < 0)
				return -1;
			r = REACHED; /* too far: time is not exact */
			part /= 2;
			if (part < LEAST_NS)
				break;
			continue;
		}
		push_mark(in, &t);
		part = 0;
		r = distance(in, g, &left, e);
	}
	if (r == PASSED)
		return err_set(e, ERR_INTERNAL, "a state behind event %llu is not met again",
			       (unsigned long long)in->n);
	return r == REACHED ? 0 : -1;
}

/* Steps from the last mark to the goal; to an invisible one, those to the visible state before it and one more. */
static int count_steps(struct inside *in, struct goal *g, uint64_t *steps, struct err *e)
{
	struct stop stop = {0};
	struct trace t;
	int sig = 0, r;

	if (inside_copy(in, &in->mark[in->marks - 1], &t, e))
		return -1;
	in->goal = g->want ? g : NULL;
	for (*steps = 0;; ++*steps) {
		r = inside_is_goal(g, &t, e);
		if (r)
			break;
		r = inside_step_copy(in, &t, &sig, &stop, e);
		if (r || stop.kind == STOP_OVER)
			break;
		if (stop.kind == STOP_GOAL) {
			++*steps;
			r = 1;
			break;
		}
		if (stop.kind == STOP_SIGNAL)
			sig = -stop.sig;
		if (*steps == STEPS_FAR) {
			r = err_set(e, ERR_HOST, "this is too far to go back step by step: set a breakpoint "
						 "before it and use reverse-continue");
			break;
		}
	}
	in->goal = NULL;
	inside_drop(&t);
	if (r < 0)
		return -1;
	if (r == 0 && g->want)
		return err_set(e, ERR_INTERNAL, "a state behind event %llu is not met again",
			       (unsigned long long)in->n);
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

int inside_back(struct inside *in, struct err *e)
{
	while (!in->counted || !in->steps) {
		struct goal g;
		uint64_t steps = 0;
		int r;

		/* at a mark: from the one before */
		if (in->counted && in->marks == 1)
			return 1;
		if (in->counted)
			pop_mark(in);
		r = goal_init(&g, &in->now, e) || approach(in, &g, e) || count_steps(in, &g, &steps, e);
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

	if (goal_init(&g, NULL, e) || approach(in, &g, e) || count_steps(in, &g, &steps, e))
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

		if (to_arrival(in, g, t, &sig, NULL, &stop, e))
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

/* The next stop of a copy that has made k of them already. */
static int next_stop(struct inside *in, struct trace *t, struct breaks *b, uint64_t k, int *sig,
		     struct stop *stop, struct err *e)
{
	int r;

	do {
		r = k ? inside_onwards(in, t, sig, b, stop, e) : inside_run_copy(in, t, sig, b, NULL, stop, e);
		if (!r && stop->kind == STOP_SIGNAL)
			*sig = -stop->sig;
	} while (!r && stop->kind == STOP_SIGNAL);
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

/* A data watchpoint traps behind its instruction: that stop is before now only if now is behind it too. */
int inside_count_stops(struct inside *in, struct breaks *b, uint64_t *k, struct err *e)
{
	struct breaks all = {0};
	struct stop stop;
	struct goal g;
	struct trace t;
	int sig = 0, r;

	*k = 0;
	if (goal_init(&g, &in->now, e) || inside_copy(in, &in->base, &t, e))
		return -1;
	breaks_add_all(&all, b);
	breaks_add(&all, g.pc);
	for (uint64_t i = 0;; i++) {
		uint64_t pc;

		r = next_stop(in, &t, &all, i, &sig, &stop, e);
		if (!r && stop.kind == STOP_OVER)
			r = err_set(e, ERR_INTERNAL, "the state here is not met again behind event %llu",
				    (unsigned long long)in->n);
		if (r)
			break;
		r = inside_is_goal(&g, &t, e);
		if (r && stop.kind == STOP_WATCH)
			++*k;
		if (r)
			break;
		r = inside_pc(&t, &pc, e);
		if (r)
			break;
		if (stop.kind == STOP_WATCH || breaks_has(b, pc))
			++*k;
	}
	inside_drop(&t);
	breaks_fini(&all);
	breaks_fini(&g.stop);
	return r < 0 ? -1 : 0;
}
