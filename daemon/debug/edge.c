/* SPDX-License-Identifier: MIT */
/*
 * edge.c: a timeline that ends where a live program stands: in the middle of a segment, behind its last event. That place
 * is an address and how many times it is passed (travel.h). It is found once, by what the live process has in registers and
 * memory (view/stance.h): of all the times that the segment comes to the address, the one that is most alike.
 */
#define LOG_DOMAIN "edge"
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "debug/inside_int.h"
#include "debug/travel_int.h"
#include "view/stance.h"

#define COMPARE_S 1 /* then it has passed the address too often to stop at it each time, and walks */
#define WALK_S 120

int travel_at_edge(struct travel *t, bool *yes, struct err *e)
{
	struct breaks b = {0};
	uint64_t pc, before;
	int r;

	*yes = false;
	if (trace_get_pc(&t->in.now, &pc, e))
		return -1;
	if (pc != t->edge.pc)
		return 0;
	breaks_add(&b, pc, 0);
	r = inside_count_stops(&t->in, &b, &before, e);
	breaks_fini(&b);
	*yes = !r && before + 1 >= t->edge.hits;
	return r;
}

/* How many times it has been at the edge's address, now included. */
static int count_passed(struct travel *t, uint64_t *passed, struct err *e)
{
	struct breaks b = {0};
	uint64_t pc;
	int r;

	breaks_add(&b, t->edge.pc, 0);
	r = trace_get_pc(&t->in.now, &pc, e) || inside_count_stops(&t->in, &b, passed, e) ? -1 : 0;
	breaks_fini(&b);
	*passed += !r && pc == t->edge.pc;
	return r;
}

/* The next stop of the user's or at the edge's address. */
static int next(struct travel *t, bool fresh, struct breaks *both, struct stop *stop, struct err *e)
{
	int r = fresh ? inside_nth_stop(&t->in, both, 1, stop, e) : inside_run(&t->in, both, stop, e);

	if (r > 0 || (!r && stop->kind == STOP_OVER))
		return err_set(e, ERR_INTERNAL, "the state of the live program is not met again behind event %llu",
			       (unsigned long long)t->edge.n);
	return r;
}

static int run(struct travel *t, bool fresh, const struct breaks *breaks, struct breaks *both, struct stop *stop,
	       struct err *e)
{
	uint64_t passed = 0, pc;

	if (!fresh && count_passed(t, &passed, e))
		return -1;
	for (; passed < t->edge.hits; fresh = false) {
		if (next(t, fresh, both, stop, e) || trace_get_pc(&t->in.now, &pc, e))
			return -1;
		if (stop->kind != STOP_BREAK)
			return 0;
		passed += pc == t->edge.pc;
		stop->kind = breaks && breaks_has(breaks, pc) ? inside_meets(breaks, &t->in.now) : 0;
		if (stop->kind)
			return 0;
	}
	*stop = (struct stop){.kind = STOP_END};
	return 0;
}

/* As run, by walking. 1: it cannot be done so. */
static int walk(struct travel *t, bool fresh, struct breaks *breaks, struct goal *edge, struct stop *stop, struct err *e)
{
	int r;

	do {
		r = inside_walk_on(&t->in, fresh, breaks, edge, stop, e);
		fresh = false;
		if (!r && stop->kind == STOP_BREAK)
			stop->kind = inside_meets(breaks, &t->in.now);
	} while (!r && !stop->kind);
	if (!r && stop->kind == STOP_GOAL)
		*stop = (struct stop){.kind = STOP_END};
	return r < 0 ? -1 : r > 0;
}

/* Where the edge's address is passed very often on the way there. 1: it cannot be done so. */
static int walk_to_edge(struct travel *t, bool fresh, const struct breaks *breaks, struct stop *stop, struct err *e)
{
	struct breaks user = {0}, at = {0};
	struct goal g = {0};
	struct trace edge;
	uint64_t before = 0;
	int r = 1;

	if (t->edge.hits <= INSIDE_HOT || (breaks && breaks_has(breaks, t->edge.pc)) || !t->in.marks)
		return 1;
	if (breaks)
		breaks_add_all(&user, breaks);
	breaks_add(&at, t->edge.pc, 0);
	if (inside_count_before_walks(&t->in, &at, &before, e))
		r = -1;
	else if (before < t->edge.hits)
		r = inside_walk_to_nth(&t->in, &t->in.mark[0], &at, t->edge.hits - before, &edge, e);
	if (!r) {
		r = inside_goal_init(&g, &edge, e) ? -1 : walk(t, fresh, &user, &g, stop, e);
		inside_drop(&edge);
	}
	breaks_fini(&g.stop);
	breaks_fini(&at);
	breaks_fini(&user);
	return r < 0 ? -1 : r > 0;
}

int travel_run_to_edge(struct travel *t, bool fresh, const struct breaks *breaks, struct stop *stop, struct err *e)
{
	struct breaks both = {0};
	int r = walk_to_edge(t, fresh, breaks, stop, e);

	if (r > 0) {
		if (breaks)
			breaks_add_all(&both, breaks);
		breaks_add(&both, t->edge.pc, 0);
		r = run(t, fresh, breaks, &both, stop, e);
		breaks_fini(&both);
	}
	if (t->mode == TRAVEL_INSIDE)
		t->tid = t->in.seg.tid;
	return r;
}

int travel_enter_last(struct travel *t, pid_t step, struct stop *stop, struct err *e)
{
	if (travel_enter(t, t->edge.n, e))
		return -1;
	*stop = (struct stop){.kind = STOP_STEP};
	return step == t->in.seg.tid ? 0 : travel_run_to_edge(t, true, &t->breaks, stop, e);
}

struct likeness {
	uint64_t hit; /* 0: none so far */
	unsigned registers; /* that differ */
	size_t stack, data;
};

/* Is this time more like the live one than all before? */
static int compare(const struct stance *p, struct trace *now, uint64_t hit, struct likeness *best, struct err *e)
{
	struct user_regs_struct r;
	struct likeness here = {.hit = hit};

	if (trace_get_regs(now, &r, e))
		return -1;
	if (!stance_is_like(p, &r, &here.registers) || (best->hit && here.registers > best->registers))
		return 0;
	here.stack = stance_differs(p, now->pid, false);
	if (best->hit && here.registers == best->registers && here.stack > best->stack)
		return 0;
	here.data = stance_differs(p, now->pid, true);
	if (!best->hit || here.registers < best->registers || here.stack < best->stack || here.data < best->data)
		*best = here;
	return 0;
}

/* Through the segment, which ends where the live process has not come yet. 1: that takes too long; hit: so far it has come. */
static int most_alike(struct travel *t, const struct stance *p, struct breaks *at, struct likeness *best, uint64_t *hit,
		      struct err *e)
{
	double end = clock_s() + COMPARE_S;
	struct stop stop = {0};
	int r;

	*hit = 0;
	for (r = inside_nth_stop(&t->in, at, 1, &stop, e); !r && stop.kind != STOP_OVER; r = inside_run(&t->in, at, &stop, e)) {
		if (stop.kind == STOP_BREAK && compare(p, &t->in.now, ++*hit, best, e))
			return -1;
		if (best->hit && !best->registers && !best->stack && !best->data)
			return 0;
		if (clock_s() > end)
			return 1;
	}
	return r < 0 ? -1 : 0;
}

struct edge_walk {
	const struct stance *p;
	pid_t base;
	struct likeness *best;
};

static int is_alike(void *ctx, struct trace *now, struct walk_tell *tell, struct err *e)
{
	struct edge_walk *w = ctx;

	stance_tell(w->p, now->pid, w->base, tell);
	if (tell->n)
		return 0;
	w->best->stack = stance_differs(w->p, now->pid, false);
	w->best->data = stance_differs(w->p, now->pid, true);
	return 1;
}

/* As most_alike; 1: it does not come to be alike. */
static int walk_to_alike(struct travel *t, const struct stance *p, struct breaks *at, struct likeness *best, struct err *e)
{
	struct edge_walk w = {p, t->in.base.pid, best};
	struct walked there;
	uint64_t before;
	int r = inside_walk_to_state(&t->in, &p->regs, WALK_S, is_alike, &w, &there, e);

	if (r)
		return r < 0 ? -1 : 1;
	inside_drop(&there.t);
	if (inside_count_before_walks(&t->in, at, &before, e))
		return -1;
	best->hit = before + there.times;
	return 0;
}

static int find_edge(struct travel *t, const struct stance *p, struct err *e)
{
	struct likeness best = {0};
	struct breaks at = {0};
	struct stop stop;
	uint64_t hit = 0;
	int r = travel_enter(t, t->edge.n, e);

	breaks_add(&at, p->regs.rip, 0);
	if (!r)
		r = most_alike(t, p, &at, &best, &hit, e);
	if (r > 0)
		r = travel_enter(t, t->edge.n, e) ? -1 : walk_to_alike(t, p, &at, &best, e);
	t->edge.found = EDGE_EXACT;
	if (r > 0) {
		t->edge.found = EDGE_EARLIER;
		best = (struct likeness){.hit = hit};
		r = 0;
	} else if (best.registers || best.stack || best.data) {
		t->edge.found = EDGE_ALIKE;
	}
	if (!r && best.hit) {
		/* what is behind it has not happened */
		r = travel_enter(t, t->edge.n, e) || inside_nth_stop(&t->in, &at, best.hit, &stop, e) ? -1 : 0;
	} else if (r >= 0) {
		r = err_set(e, ERR_INTERNAL, "the replay does not come to 0x%llx, where the live program stands, behind event %llu",
			    (unsigned long long)p->regs.rip, (unsigned long long)t->edge.n);
	}
	log_info("event %llu, time %llu at 0x%llx: %u registers, %zu words of the stack, %zu of the data differ", (unsigned long long)t->edge.n,
		 (unsigned long long)best.hit, (unsigned long long)p->regs.rip, best.registers, best.stack, best.data);
	breaks_fini(&at);
	t->edge.hits = best.hit;
	return r;
}

int travel_goto_live(struct travel *t, const struct stance *p, struct err *e)
{
	if (p->in_call)
		return travel_goto(t, nav_total(t->nav), e);
	t->edge = (struct travel_edge){.n = nav_total(t->nav) - 1, .pc = p->regs.rip};
	if (find_edge(t, p, e))
		return -1;
	t->edge.on = true;
	return 0;
}
