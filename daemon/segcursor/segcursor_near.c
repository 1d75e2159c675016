/* SPDX-License-Identifier: MIT */
/*
 * segcursor_near.c: how many steps is a state from the last mark? When they are too many to be made one by one, a mark
 * nearer to the state is set first. By CPU time: a copy that has run for most of the time that the state takes, and has
 * not met it, is before it. Time is exact to some microseconds only, in which a program makes 100,000 steps. Then by
 * arrivals: addresses met more than once within a thousand steps from the mark belong to a loop. One copy counts the
 * arrivals at some of these up to the state, and another goes to the last arrival at the one with the fewest, which is
 * in the outermost loop.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "segcursor/segcursor_int.h"
#include "trace/rep.h"

#define NEAR_NS 80000u /* for shorter times CPU time is of no use */
#define LEAST_NS 15000u
#define TRIES 40
#define ROUNDS 400 /* how many times the mark is brought nearer by arrivals */
#define ROUNDS_STEPPED 200 /* ... and by steps, if there is no loop */
#define WINDOW 1024u
#define CANDIDATES 3
#define LIBC_STEPS 3000

/* The states of the first steps after the last mark. */
struct window {
	uint64_t pc[WINDOW];
	unsigned n;
};

/* Continues from an arrival that was not the goal, over its int3. 1: there was none. */
static int step_off(struct segcur *in, struct goal *g, struct trace *t, int *sig, struct stop *stop, struct err *e)
{
	uint64_t pc;

	if (!g->want)
		return 1;
	if (trace_get_pc(t, &pc, e))
		return -1;
	return pc == g->pc ? segcur_step_copy(in, t, sig, stop, e) : 1;
}

/* Runs to the next arrival at the goal's PC, to the end of the segment, or until the time is up. */
int segcur_to_arrival(struct segcur *in, struct goal *g, struct trace *t, int *sig, const struct trace_limit *limit,
		      struct stop *stop, struct err *e)
{
	uint64_t pc;
	int r = step_off(in, g, t, sig, stop, e);

	if (r < 0)
		return -1;
	if (!r && stop->kind == STOP_SIGNAL)
		*sig = -stop->sig;
	if (!r && stop->kind == STOP_OVER)
		return 0;
	if (!r && (trace_get_pc(t, &pc, e) || pc == g->pc))
		return pc == g->pc ? 0 : -1;
	do {
		if (segcur_run_copy(in, t, sig, &g->stop, limit, stop, e))
			return -1;
		if (stop->kind == STOP_SIGNAL)
			*sig = -stop->sig;
	} while (stop->kind == STOP_SIGNAL);
	return stop->kind == STOP_INTERRUPT ? err_set(e, ERR_CANCELLED, "interrupted") : 0;
}

int segcur_run_to_goal(struct segcur *in, struct goal *g, struct trace *t, uint64_t limit_ns, unsigned hot,
		       uint64_t *ns, struct err *e)
{
	struct trace_limit limit = {.cpu_ns = limit_ns};
	struct stop stop = {0};
	uint64_t from, to;
	unsigned times = 0;
	int sig = 0, r;

	if (trace_cpu_ns(t->pid, &from, e))
		return -1;
	for (to = from; !(r = segcur_is_goal(g, t, e));) {
		if (segcur_to_arrival(in, g, t, &sig, limit_ns ? &limit : NULL, &stop, e))
			return -1;
		if (t->alive && trace_cpu_ns(t->pid, &to, e))
			return -1;
		*ns = to - from;
		if (stop.kind == STOP_OVER)
			return g->want ? SEGCUR_PASSED : SEGCUR_REACHED;
		if (limit_ns && (stop.kind == STOP_LIMIT || *ns >= limit_ns))
			return SEGCUR_SHORT;
		if (hot && ++times > hot)
			return SEGCUR_TOO_HOT;
		limit.cpu_ns = limit_ns ? limit_ns - *ns : 0;
	}
	*ns = to - from;
	return r < 0 ? -1 : SEGCUR_REACHED;
}

int segcur_distance(struct segcur *in, struct trace *from, struct goal *g, unsigned hot, uint64_t *ns, struct err *e)
{
	struct trace t;
	int r;

	if (segcur_copy(in, from, &t, e))
		return -1;
	r = segcur_run_to_goal(in, g, &t, 0, hot, ns, e);
	segcur_drop(&t);
	return r;
}

/* The CPU time from the last mark to the goal; sets nearer marks first if the way is long. */
static int distance(struct segcur *in, struct goal *g, unsigned hot, uint64_t *ns, struct err *e)
{
	struct segcur_trail trail = {0};
	int r;

	in->trail = &trail;
	r = segcur_distance(in, &in->mark[in->marks - 1], g, hot, ns, e);
	in->trail = NULL;
	if (r == SEGCUR_REACHED && trail.last.t.pid) {
		segcur_mark_trail(in, &trail);
		return distance(in, g, hot, ns, e);
	}
	segcur_drop(&trail.last.t);
	return r;
}

/*
 * A copy that the time limit has stopped becomes a mark if its state is visible and still before the goal. 1: it is
 * not. In libc the recorder may have called it, so it runs on until it has left libc; one step is made in any case, as
 * a signal may be pending for it.
 */
static int leave_libc(struct segcur *in, struct goal *g, struct trace *t, struct err *e)
{
	struct stop stop;
	int sig = 0;

	for (unsigned i = 0; i < LIBC_STEPS; i++) {
		struct user_regs_struct now;
		int r = segcur_is_goal(g, t, e);

		if (r)
			return r;
		if (segcur_step_copy(in, t, &sig, &stop, e) || trace_get_regs(t, &now, e))
			return -1;
		if (stop.kind != STOP_STEP)
			return 1;
		if (!sig && visibility_is_program(&in->visibility, t->pid, &now))
			return segcur_is_goal(g, t, e);
	}
	return 1;
}

static int make_visible(struct segcur *in, struct goal *g, struct trace *t, struct err *e)
{
	int r;

	in->goal = g->want ? g : NULL;
	r = leave_libc(in, g, t, e);
	in->goal = NULL;
	return r;
}

/* Sets marks nearer to the goal, as far as CPU time is exact. */
static int approach(struct segcur *in, struct goal *g, struct err *e)
{
	uint64_t left, rest = 0, ran, part = 0;
	int r = distance(in, g, SEGCUR_HOT, &left, e);

	if (r == SEGCUR_TOO_HOT && segcur_walk_marks(in, g, e) < 0)
		return -1;
	if (r == SEGCUR_TOO_HOT)
		r = distance(in, g, 0, &left, e);
	for (unsigned i = 0; r == SEGCUR_REACHED && left > NEAR_NS && i < TRIES; i++) {
		struct trace t;

		if (!part || part >= left)
			part = left - left / 6 - LEAST_NS;
		if (segcur_copy(in, &in->mark[in->marks - 1], &t, e))
			return -1;
		r = segcur_run_to_goal(in, g, &t, part, 0, &ran, e);
		if (r == SEGCUR_SHORT) {
			int late = make_visible(in, g, &t, e);

			r = late < 0 ? -1 : late ? SEGCUR_REACHED : SEGCUR_SHORT;
		}
		if (r == SEGCUR_SHORT) {
			segcur_push_mark(in, &t, 0);
			r = distance(in, g, 0, &rest, e);
			if (r != SEGCUR_PASSED) {
				left = rest;
				part = 0;
				continue;
			}
			segcur_drop(&in->mark[--in->marks]);
		} else {
			segcur_drop(&t);
			if (r < 0)
				return -1;
		}
		/* it went too far, since CPU time is not exact; this is not always noticed on the way */
		r = SEGCUR_REACHED;
		part /= 2;
		if (part < LEAST_NS)
			break;
	}
	if (r == SEGCUR_PASSED)
		return err_set(e, ERR_INTERNAL, "a state after event %llu could not be reached again",
			       (unsigned long long)in->n);
	return r == SEGCUR_REACHED ? 0 : -1;
}

/*
 * Counts the steps from the last mark to the goal: SEGCUR_REACHED. If the goal is not visible, it is one more than the
 * last visible state before it. SEGCUR_SHORT: w is full, and *at is the last visible state.
 */
static int count_steps(struct segcur *in, struct goal *g, struct window *w, struct trace *at, uint64_t *steps,
		       struct err *e)
{
	struct stop stop = {0};
	int sig = 0, r;

	if (segcur_copy(in, &in->mark[in->marks - 1], at, e))
		return -1;
	in->goal = g->want ? g : NULL;
	for (*steps = w->n = 0;; ++*steps) {
		r = segcur_is_goal(g, at, e);
		if (r)
			break;
		if (w->n >= WINDOW && !sig) {
			in->goal = NULL;
			return SEGCUR_SHORT;
		}
		if (w->n < WINDOW && trace_get_pc(at, &w->pc[w->n++], e))
			r = -1;
		r = r ? r : segcur_step_copy(in, at, &sig, &stop, e);
		if (r || stop.kind == STOP_OVER)
			break;
		if (stop.kind == STOP_GOAL) {
			++*steps;
			r = 1;
			break;
		}
		if (stop.kind == STOP_SIGNAL)
			sig = -stop.sig;
	}
	in->goal = NULL;
	segcur_drop(at);
	if (r < 0)
		return -1;
	if (r == 0 && g->want)
		return err_set(e, ERR_INTERNAL, "a state after event %llu could not be reached again",
			       (unsigned long long)in->n);
	return SEGCUR_REACHED;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* An address, and how often it was passed: in the window, and up to the goal. */
struct candidate {
	uint64_t pc, seen, all;
	bool walked; /* `all` was counted by a walk, not by stops */
};

static int by_seen(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->seen < y->seen ? -1 : x->seen > y->seen;
}

/* Chooses among those that were passed more than once: the rarest, one in the middle and the most frequent. */
static unsigned choose(const struct segcur *in, const struct goal *g, struct window *w, struct candidate c[CANDIDATES])
{
	struct candidate *all = xcalloc(w->n, sizeof(*all));
	unsigned n = 0, k = 0;

	qsort(w->pc, w->n, sizeof(w->pc[0]), by_value);
	for (unsigned i = 0, j; i < w->n; i = j) {
		for (j = i; j < w->n && w->pc[j] == w->pc[i]; j++)
			;
		if (j - i > 1 && w->pc[i] != g->pc && visibility_is_certain(&in->visibility, w->pc[i]))
			all[n++] = (struct candidate){.pc = w->pc[i], .seen = j - i};
	}
	qsort(all, n, sizeof(*all), by_seen);
	for (unsigned i = 0; i < CANDIDATES && i < n; i++)
		c[k++] = all[i * (n - 1) / (n < CANDIDATES ? n : CANDIDATES - 1)];
	free(all);
	return k;
}

/* Counts how often a copy passes it from the last mark to the goal, by a walk or, if that is not possible, by stops. */
static int count_arrivals(struct segcur *in, struct goal *g, struct candidate *c, struct err *e)
{
	struct trace *from = &in->mark[in->marks - 1];
	struct breaks b = {0};
	int r;

	breaks_add(&b, c->pc, 0);
	r = segcur_walk_count(in, from, g, &b, &c->all, e);
	c->walked = !r;
	if (r > 0)
		r = segcur_count_to(in, from, &b, g, 0, &c->all, e);
	breaks_fini(&b);
	return r;
}

/*
 * Moves a copy of the last mark to the last counted arrival, in the way in which it was counted: calls of the recorder
 * are stops, too, but a walk does not see them. 1: it does not get there.
 */
static int go_to_arrival(struct segcur *in, const struct candidate *c, struct trace *t, struct err *e)
{
	struct trace *from = &in->mark[in->marks - 1];
	struct stop stop = {0};
	struct breaks b = {0};
	int sig = 0, r;

	breaks_add(&b, c->pc, 0);
	r = c->walked ? segcur_walk_to_nth(in, from, &b, c->all, t, e)
		      : segcur_run_to_nth(in, from, &b, c->all, t, &sig, &stop, e);
	breaks_fini(&b);
	return r;
}

/* Sets a mark at the last arrival at the outermost loop before the goal. 1: no loop reaches that far. */
static int skip_loop(struct segcur *in, struct goal *g, struct window *w, struct err *e)
{
	struct candidate c[CANDIDATES], *best = NULL;
	unsigned n = choose(in, g, w, c);
	struct trace t;
	int r = n ? 0 : 1;

	for (unsigned i = 0; i < n && !r; i++)
		r = count_arrivals(in, g, &c[i], e);
	for (unsigned i = 0; i < n && !r; i++)
		if (c[i].all > c[i].seen && (!best || c[i].all < best->all))
			best = &c[i];
	if (r || !best)
		return r < 0 ? -1 : 1;
	r = go_to_arrival(in, best, &t, e);
	if (!r)
		segcur_push_mark(in, &t, 0);
	return r;
}

static int come_near(struct segcur *in, struct goal *g, struct window *w, uint64_t *steps, struct err *e)
{
	unsigned stepped = 0;

	for (unsigned i = 0; i < ROUNDS && stepped < ROUNDS_STEPPED; i++) {
		struct trace at;
		int r = count_steps(in, g, w, &at, steps, e);

		if (r != SEGCUR_SHORT)
			return r;
		r = skip_loop(in, g, w, e);
		stepped += r > 0;
		if (r > 0)
			segcur_push_mark(in, &at, *steps);
		segcur_drop(&at);
		if (r < 0)
			return -1;
	}
	return err_set(e, ERR_HOST,
		       "this is too far to go back step by step: set a breakpoint before it and use "
		       "reverse-continue");
}

int segcur_count_back(struct segcur *in, struct goal *g, uint64_t *steps, struct err *e)
{
	struct window *w;
	int r;

	if (approach(in, g, e))
		return -1;
	w = xmalloc(sizeof(*w));
	r = come_near(in, g, w, steps, e);
	free(w);
	return r;
}
