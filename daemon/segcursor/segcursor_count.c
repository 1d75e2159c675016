/* SPDX-License-Identifier: MIT */
/*
 * segcursor_count.c: copies that run from stop to stop and count: the kth stop, and how many there are before a state.
 */
#include <string.h>

#include "segcursor/segcursor_int.h"

#define DENSE_STOPS 32 /* the density is measured again after this many stops */
/* the CPU time of a copy from one stop to the next, including the cost of a stop */
#define DENSE_NS 60000u

/* A stop takes as long as walking past some 10,000 instructions. */
static bool is_dense(struct segcur *in, const struct trace *t, uint64_t stops)
{
	struct err ignored;
	uint64_t ns;

	if (!in->hurry || !stops || stops % DENSE_STOPS || trace_cpu_ns(t->pid, &ns, &ignored))
		return false;
	in->hurried = ns < stops * DENSE_NS;
	return in->hurried;
}

int segcur_next_stop(struct segcur *in, struct trace *t, struct breaks *b, uint64_t k, int *sig, struct stop *stop,
		     struct err *e)
{
	int r;

	if (is_dense(in, t, k)) {
		*stop = (struct stop){.kind = STOP_HOT};
		return 0;
	}
	r = k ? segcur_onwards(in, t, sig, b, stop, e) : segcur_run_copy(in, t, sig, b, NULL, stop, e);

	if (!r && stop->kind == STOP_SIGNAL)
		*sig = -stop->sig;
	return !r && stop->kind == STOP_INTERRUPT ? err_set(e, ERR_CANCELLED, "interrupted") : r;
}

int segcur_run_to_nth(struct segcur *in, struct trace *from, struct breaks *b, uint64_t k, struct trace *t, int *sig,
		      struct stop *stop, struct err *e)
{
	int r = 0;

	*sig = 0;
	if (segcur_copy(in, from, t, e))
		return -1;
	for (uint64_t i = 0; i < k && !r; i++) {
		r = segcur_next_stop(in, t, b, i, sig, stop, e);
		if (!r && (stop->kind == STOP_OVER || stop->kind == STOP_HOT))
			r = 1;
	}
	if (r)
		segcur_drop(t);
	return r;
}

int segcur_is_stop(const struct breaks *b, struct trace *t, enum stop_kind kind, struct err *e)
{
	uint64_t pc;

	if (kind == STOP_WATCH || kind == STOP_SIGNAL)
		return 1;
	if (trace_get_pc(t, &pc, e))
		return -1;
	return breaks_has(b, pc) && breaks_wanted(b, t);
}

/* CPU time: another copy is left behind when the way from the last one has taken this long */
#define KEEP_NS 50000000u

/*
 * t stands at a stop of b, the last one so far: keeps a copy. A later run cannot begin where a signal is to be
 * delivered, or at a state that is not visible.
 */
static int keep_near(struct segcur *in, struct trace *t, struct segcur_count *c, int sig, const struct stop *stop,
		     struct err *e)
{
	struct segcur_kept at = {.stop = *stop, .k = c->k};
	struct user_regs_struct r;

	if (!c->keep || sig || (stop->kind != STOP_BREAK && stop->kind != STOP_WATCH))
		return 0;
	if (trace_cpu_ns(t->pid, &at.ns, e) || trace_get_regs(t, &r, e))
		return -1;
	if (at.ns < c->near.ns + KEEP_NS || !visibility_is_program(&in->visibility, t->pid, &r))
		return 0;
	if (segcur_copy(in, t, &at.t, e))
		return -1;
	segcur_drop(&c->before.t);
	if (c->trail.last.t.pid && c->trail.last.ns > c->near.ns) {
		segcur_drop(&c->near.t);
		c->before = c->trail.last;
		memset(&c->trail.last.t, 0, sizeof(c->trail.last.t));
	} else {
		c->before = c->near;
	}
	c->near = at;
	return 0;
}

/* Have there been too many? Comparing memory takes much longer than a stop. */
static bool is_too_many(const struct segcur_count *c, const struct goal *g, uint64_t stops)
{
	return c->most && (stops > c->most || g->compared > SEGCUR_HOT);
}

/*
 * Runs t to the goal and counts; *sig is still to be delivered. `all` holds b and the goal's PC. 1: there are too many
 * stops on the way.
 */
static int count_with(struct segcur *in, struct trace *t, struct breaks *b, struct breaks *all, struct goal *g,
		      struct segcur_count *c, int *sig, struct err *e)
{
	struct stop stop;
	int r = 0;

	for (uint64_t i = 0; !r; i++) {
		r = segcur_next_stop(in, t, all, i, sig, &stop, e);
		if (r)
			return r;
		if (stop.kind == STOP_HOT)
			return 1;
		if (stop.kind == STOP_OVER)
			return g->want ? err_set(e, ERR_INTERNAL,
						 "the state here could not be reached again after event %llu",
						 (unsigned long long)in->n)
				       : 0;
		r = segcur_is_goal(g, t, e);
		if (r > 0)
			c->k += stop.kind == STOP_WATCH;
		if (r)
			return r < 0 ? -1 : 0;
		r = segcur_is_stop(b, t, stop.kind, e);
		if (r < 0)
			return -1;
		c->k += (uint64_t)r;
		if (r && keep_near(in, t, c, *sig, &stop, e))
			return -1;
		r = is_too_many(c, g, i + 1);
	}
	return r;
}

int segcur_count_rest(struct segcur *in, struct trace *t, struct breaks *b, uint64_t *k, struct err *e)
{
	struct stop stop = {0};
	int sig = 0, r;

	for (*k = 0; !(r = segcur_run_on(in, t, b, 1, &sig, &stop, e)); ++*k)
		if (*k == SEGCUR_MANY)
			return 1;
	return r < 0 ? -1 : stop.kind != STOP_OVER;
}

int segcur_run_on(struct segcur *in, struct trace *t, struct breaks *b, uint64_t k, int *sig, struct stop *stop,
		  struct err *e)
{
	int r = 0;

	in->patience = SEGCUR_WRITES;
	while (k-- && !r) {
		r = segcur_next_stop(in, t, b, 1, sig, stop, e);
		if (!r && (stop->kind == STOP_OVER || stop->kind == STOP_HOT))
			r = 1;
	}
	in->patience = 0;
	return r;
}

static int count_on(struct segcur *in, struct trace *t, struct breaks *b, struct goal *g, struct segcur_count *c,
		    int *sig, struct err *e)
{
	struct breaks all = {0};
	int r;

	*sig = 0;
	breaks_add_all(&all, b);
	if (g->want)
		breaks_add(&all, g->pc, 0);
	in->patience = c->most ? SEGCUR_WRITES : 0;
	r = count_with(in, t, b, &all, g, c, sig, e);
	in->patience = 0;
	breaks_fini(&all);
	return r;
}

/* The same for *t, a copy of the base; it also leaves copies behind that shorten the next runs. */
static int count_keeping(struct segcur *in, struct trace *t, struct breaks *b, struct goal *g, struct segcur_count *c,
			 int *sig, struct err *e)
{
	int r;

	*c = (struct segcur_count){.most = SEGCUR_STOPS, .keep = true, .trail.k = &c->k};
	in->trail = &c->trail;
	in->hurried = false;
	r = segcur_copy(in, &in->base, t, e) ? -1 : count_on(in, t, b, g, c, sig, e);
	in->trail = NULL;
	in->hurry = false;
	return r;
}

static int count_from(struct segcur *in, struct trace *from, struct breaks *b, struct goal *g, struct segcur_count *c,
		      struct err *e)
{
	struct trace t;
	int sig, r;

	if (segcur_copy(in, from, &t, e))
		return -1;
	r = count_on(in, &t, b, g, c, &sig, e);
	segcur_drop(&t);
	return r;
}

int segcur_count_to(struct segcur *in, struct trace *from, struct breaks *b, struct goal *g, uint64_t most, uint64_t *k,
		    struct err *e)
{
	struct segcur_count c = {.most = most};
	int r = count_from(in, from, b, g, &c, e);

	*k = c.k;
	return r;
}

int segcur_count_keeping(struct segcur *in, struct breaks *b, struct goal *g, bool hurry, struct segcur_count *c,
			 struct err *e)
{
	struct trace t = {0};
	int sig, r;

	in->hurry = hurry;
	r = count_keeping(in, &t, b, g, c, &sig, e);
	segcur_drop(&t);
	return r;
}

int segcur_find_counting(struct segcur *in, struct trace *want, struct breaks *b, struct segcur_count *c, struct err *e)
{
	struct trace t = {0};
	struct goal g;
	int sig, r;

	*c = (struct segcur_count){0};
	if (segcur_goal_init(&g, want, e))
		return -1;
	in->hurry = in->marks && segcur_conditions_walkable(in, b);
	r = count_keeping(in, &t, b, &g, c, &sig, e);
	if (!r) {
		segcur_be_now(in, &t, sig, in->marks ? 1 : 0);
		segcur_mark_trail(in, &c->trail);
	} else {
		segcur_drop(&t);
	}
	c->known = !r;
	breaks_fini(&g.stop);
	return r;
}

void segcur_count_fini(struct segcur_count *c)
{
	segcur_drop(&c->trail.last.t);
	segcur_drop(&c->near.t);
	segcur_drop(&c->before.t);
}

int segcur_count_before_walks(struct segcur *in, struct breaks *b, uint64_t *k, struct err *e)
{
	struct goal g;
	int r;

	if (segcur_goal_init(&g, &in->mark[0], e))
		return -1;
	r = segcur_count_to(in, &in->base, b, &g, 0, k, e);
	breaks_fini(&g.stop);
	return r;
}
