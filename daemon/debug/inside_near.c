/* SPDX-License-Identifier: MIT */
/*
 * inside_near.c: how far is a state from the last mark? When it is too far to be stepped, the mark is brought nearer: by
 * CPU time first, since a copy that has run for most of the way without meeting the state is before it. Time is exact to some
 * microseconds only, in which a program makes 100,000 steps. Then by arrivals: addresses that a thousand steps from the
 * mark came by more than once are those of a loop; the kernel counts how often the copy comes to them up to the state, and
 * another copy goes to the last time at one of them, that of the outermost loop.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "debug/inside_int.h"
#include "trace/arrivals.h"

#define NEAR_NS 80000u /* time is of no more use */
#define LEAST_NS 15000u
#define TRAIL_PART 4 /* copies are left when the way has become longer by such a part: they are few, and one is near the end */
#define TRIES 40
#define ROUNDS 400 /* of bringing the mark nearer by arrivals */
#define ROUNDS_STEPPED 200 /* ... by steps, since there is no loop */
#define WINDOW 1024u
#define LIBC_STEPS 3000
#define END_SLOT (TRACE_SLOTS - 1)

/* Where some steps from the last mark were. */
struct window {
	uint64_t pc[WINDOW];
	unsigned n;
};

/* From an arrival that was not the goal: over its int3. 1: there was none. */
static int step_off(struct inside *in, struct goal *g, struct trace *t, int *sig, struct stop *stop,
		    struct err *e)
{
	uint64_t pc;

	if (!g->want)
		return 1;
	if (trace_get_pc(t, &pc, e))
		return -1;
	return pc == g->pc ? inside_step_copy(in, t, sig, stop, e) : 1;
}

/* On to the next time at the goal's PC, or the end of the segment, or of the time. */
int inside_to_arrival(struct inside *in, struct goal *g, struct trace *t, int *sig, const struct trace_limit *limit,
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
		if (inside_run_copy(in, t, sig, &g->stop, limit, stop, e))
			return -1;
		if (stop->kind == STOP_SIGNAL)
			*sig = -stop->sig;
	} while (stop->kind == STOP_SIGNAL);
	return stop->kind == STOP_INTERRUPT ? err_set(e, ERR_CANCELLED, "interrupted") : 0;
}

int inside_run_to_goal(struct inside *in, struct goal *g, struct trace *t, uint64_t limit_ns, unsigned hot, uint64_t *ns,
		       struct err *e)
{
	struct trace_limit limit = {.cpu_ns = limit_ns};
	struct stop stop = {0};
	uint64_t from, to;
	unsigned times = 0;
	int sig = 0, r;

	if (trace_cpu_ns(t->pid, &from, e))
		return -1;
	for (to = from; !(r = inside_is_goal(g, t, e));) {
		if (inside_to_arrival(in, g, t, &sig, limit_ns ? &limit : NULL, &stop, e))
			return -1;
		if (t->alive && trace_cpu_ns(t->pid, &to, e))
			return -1;
		*ns = to - from;
		if (stop.kind == STOP_OVER)
			return g->want ? INSIDE_PASSED : INSIDE_REACHED;
		if (limit_ns && (stop.kind == STOP_LIMIT || *ns >= limit_ns))
			return INSIDE_SHORT;
		if (hot && ++times > hot)
			return INSIDE_TOO_HOT;
		limit.cpu_ns = limit_ns ? limit_ns - *ns : 0;
	}
	*ns = to - from;
	return r < 0 ? -1 : INSIDE_REACHED;
}

int inside_distance(struct inside *in, struct trace *from, struct goal *g, unsigned hot, uint64_t *ns, struct err *e)
{
	struct trace t;
	int r;

	if (inside_copy(in, from, &t, e))
		return -1;
	r = inside_run_to_goal(in, g, &t, 0, hot, ns, e);
	inside_drop(&t);
	return r;
}

void inside_push_mark(struct inside *in, struct trace *t, uint64_t steps)
{
	if (in->marks == INSIDE_MARKS) { /* the first one stays */
		inside_drop(&in->mark[1]);
		memmove(&in->mark[1], &in->mark[2], (INSIDE_MARKS - 2) * sizeof(in->mark[0]));
		memmove(&in->mark_steps[1], &in->mark_steps[2], (INSIDE_MARKS - 2) * sizeof(in->mark_steps[0]));
		in->mark_steps[1] = 0;
		in->marks--;
	}
	in->mark_steps[in->marks] = steps;
	in->mark[in->marks++] = *t;
	memset(t, 0, sizeof(*t));
}

int inside_leave_trail(struct inside *in, struct trace *t, const struct breaks *b, struct err *e)
{
	struct inside_trail *trail = in->trail;
	struct inside_kept at = {.k = trail->k ? *trail->k : 0};
	uint64_t pc;

	if (trace_cpu_ns(t->pid, &at.ns, e) || trace_get_pc(t, &pc, e))
		return -1;
	if (at.ns < trail->last.ns + trail->last.ns / TRAIL_PART || !sight_is_certain(&in->sight, pc))
		return 0;
	if (inside_copy(in, t, &at.t, e) || breaks_clean_copy(b, at.t.pid, e)) {
		inside_drop(&at.t);
		return -1;
	}
	inside_drop(&trail->last.t);
	trail->last = at;
	return 0;
}

void inside_mark_trail(struct inside *in, struct inside_trail *trail)
{
	if (in->marks && trail->last.t.pid)
		inside_push_mark(in, &trail->last.t, 0);
}

/* ... from the last mark, which is a nearer one when the way is long. */
static int distance(struct inside *in, struct goal *g, unsigned hot, uint64_t *ns, struct err *e)
{
	struct inside_trail trail = {0};
	int r;

	in->trail = &trail;
	r = inside_distance(in, &in->mark[in->marks - 1], g, hot, ns, e);
	in->trail = NULL;
	if (r == INSIDE_REACHED && trail.last.t.pid) {
		inside_mark_trail(in, &trail);
		return distance(in, g, hot, ns, e);
	}
	inside_drop(&trail.last.t);
	return r;
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
		if (inside_step_copy(in, t, &sig, &stop, e) || trace_get_pc(t, &pc, e))
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

/* Marks nearer to the goal, as far as time is exact. */
static int approach(struct inside *in, struct goal *g, struct err *e)
{
	uint64_t left, ran, part = 0;
	int r = distance(in, g, INSIDE_HOT, &left, e);

	if (r == INSIDE_TOO_HOT && inside_walk_marks(in, g, e) < 0)
		return -1;
	if (r == INSIDE_TOO_HOT)
		r = distance(in, g, 0, &left, e);
	for (unsigned i = 0; r == INSIDE_REACHED && left > NEAR_NS && i < TRIES; i++) {
		struct trace t;

		if (!part || part >= left)
			part = left - left / 6 - LEAST_NS;
		if (inside_copy(in, &in->mark[in->marks - 1], &t, e))
			return -1;
		r = inside_run_to_goal(in, g, &t, part, 0, &ran, e);
		if (r == INSIDE_SHORT) {
			int late = make_visible(in, g, &t, e);

			r = late < 0 ? -1 : late ? INSIDE_REACHED : INSIDE_SHORT;
		}
		if (r != INSIDE_SHORT) {
			inside_drop(&t);
			if (r < 0)
				return -1;
			r = INSIDE_REACHED; /* too far: time is not exact */
			part /= 2;
			if (part < LEAST_NS)
				break;
			continue;
		}
		inside_push_mark(in, &t, 0);
		part = 0;
		r = distance(in, g, 0, &left, e);
	}
	if (r == INSIDE_PASSED)
		return err_set(e, ERR_INTERNAL, "a state behind event %llu is not met again",
			       (unsigned long long)in->n);
	return r == INSIDE_REACHED ? 0 : -1;
}

/*
 * Steps from the last mark to the goal: INSIDE_REACHED; to an invisible one, those to the visible state before it and one more.
 * INSIDE_SHORT: w is full, and *at is the last visible state.
 */
static int count_steps(struct inside *in, struct goal *g, struct window *w, struct trace *at, uint64_t *steps,
		       struct err *e)
{
	struct stop stop = {0};
	int sig = 0, r;

	if (inside_copy(in, &in->mark[in->marks - 1], at, e))
		return -1;
	in->goal = g->want ? g : NULL;
	for (*steps = w->n = 0;; ++*steps) {
		r = inside_is_goal(g, at, e);
		if (r)
			break;
		if (w->n >= WINDOW && !sig) {
			in->goal = NULL;
			return INSIDE_SHORT;
		}
		if (w->n < WINDOW && trace_get_pc(at, &w->pc[w->n++], e))
			r = -1;
		r = r ? r : inside_step_copy(in, at, &sig, &stop, e);
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
	inside_drop(at);
	if (r < 0)
		return -1;
	if (r == 0 && g->want)
		return err_set(e, ERR_INTERNAL, "a state behind event %llu is not met again",
			       (unsigned long long)in->n);
	return INSIDE_REACHED;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* An address and how often it was met: in the window, and up to the goal. */
struct candidate {
	uint64_t pc, seen, all;
};

static int by_seen(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->seen < y->seen ? -1 : x->seen > y->seen;
}

/* Of those met more than once, the rarest, one in the middle and the most frequent. */
static unsigned choose(const struct inside *in, const struct goal *g, struct window *w, struct candidate c[ARRIVALS_MAX])
{
	struct candidate *all = xcalloc(w->n, sizeof(*all));
	unsigned n = 0, k = 0;

	qsort(w->pc, w->n, sizeof(w->pc[0]), by_value);
	for (unsigned i = 0, j; i < w->n; i = j) {
		for (j = i; j < w->n && w->pc[j] == w->pc[i]; j++)
			;
		if (j - i > 1 && w->pc[i] != g->pc && sight_is_certain(&in->sight, w->pc[i]))
			all[n++] = (struct candidate){.pc = w->pc[i], .seen = j - i};
	}
	qsort(all, n, sizeof(*all), by_seen);
	for (unsigned i = 0; i < ARRIVALS_MAX && i < n; i++)
		c[k++] = all[i * (n - 1) / (n < ARRIVALS_MAX ? n : ARRIVALS_MAX - 1)];
	free(all);
	return k;
}

/* How often a copy comes to each from the last mark to the goal. 1: that cannot be counted. */
static int count_arrivals(struct inside *in, struct goal *g, struct candidate *c, unsigned n, struct err *e)
{
	uint64_t pc[ARRIVALS_MAX], ns;
	struct arrivals a;
	struct trace t;
	int r;

	for (unsigned i = 0; i < n; i++)
		pc[i] = c[i].pc;
	if (inside_copy(in, &in->mark[in->marks - 1], &t, e))
		return -1;
	r = arrivals_open(&a, &t, pc, n, 0) ? 1 : inside_run_to_goal(in, g, &t, 0, 0, &ns, e) == INSIDE_REACHED ? 0 : -1;
	for (unsigned i = 0; i < n && !r; i++)
		r = arrivals_read(&a, i, &c[i].all, e);
	arrivals_close(&a);
	inside_drop(&t);
	return r;
}

/* The last mark's copy goes to the nth arrival at pc. 1: it does not come. */
static int go_to_arrival(struct inside *in, uint64_t pc, uint64_t nth, struct trace *t, struct err *e)
{
	static const struct trace_limit slice = {.wall_ns = INSIDE_SLICE_NS};
	struct trace_stop s = {0};
	struct arrivals a;
	int sig = 0, r;

	if (inside_copy(in, &in->mark[in->marks - 1], t, e))
		return -1;
	r = arrivals_open(&a, t, &pc, 1, nth);
	while (!r && !arrivals_is_stop(&s)) {
		r = trace_set_watch(t, END_SLOT, SEGMENT_TURN_ADDR, 8, e) || trace_cont(t, sig, &slice, &s, e) ? -1 : 0;
		if (!r && s.why == TRACE_TIMEOUT && inside_is_given_up(in, 1))
			r = err_set(e, ERR_CANCELLED, "interrupted");
		sig = s.why == TRACE_SIGNAL ? s.info.si_signo : 0;
		if (!r && (s.why == TRACE_EXITED || s.slots))
			r = 1;
	}
	arrivals_close(&a);
	if (r)
		inside_drop(t);
	return r;
}

/* A mark at the last time that the outermost loop came by, before the goal. 1: there is no loop that goes on. */
static int skip_loop(struct inside *in, struct goal *g, struct window *w, struct err *e)
{
	struct candidate c[ARRIVALS_MAX], *best = NULL;
	unsigned n = choose(in, g, w, c);
	struct trace t;
	int r = n ? count_arrivals(in, g, c, n, e) : 1;

	for (unsigned i = 0; i < n && !r; i++)
		if (c[i].all > c[i].seen && (!best || c[i].all < best->all))
			best = &c[i];
	if (r || !best)
		return r < 0 ? -1 : 1;
	r = go_to_arrival(in, best->pc, best->all, &t, e);
	if (!r)
		inside_push_mark(in, &t, 0);
	return r;
}

static int come_near(struct inside *in, struct goal *g, struct window *w, uint64_t *steps, struct err *e)
{
	unsigned stepped = 0;

	for (unsigned i = 0; i < ROUNDS && stepped < ROUNDS_STEPPED; i++) {
		struct trace at;
		int r = count_steps(in, g, w, &at, steps, e);

		if (r != INSIDE_SHORT)
			return r;
		r = skip_loop(in, g, w, e);
		stepped += r > 0;
		if (r > 0)
			inside_push_mark(in, &at, *steps);
		inside_drop(&at);
		if (r < 0)
			return -1;
	}
	return err_set(e, ERR_HOST, "this is too far to go back step by step: set a breakpoint before it and use "
				    "reverse-continue");
}

int inside_count_back(struct inside *in, struct goal *g, uint64_t *steps, struct err *e)
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
