/* SPDX-License-Identifier: MIT */
/*
 * history_end.c: a timeline that ends where a live program stands: in the middle of a segment, behind its last event. That place
 * is an address and how many times it is passed (cursor.h). It is found once, by what the live process has in registers and
 * memory (visibility/thread_snapshot.h): of all the times that the segment comes to the address, the one that is most alike.
 */
#define LOG_DOMAIN "edge"
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "segcursor/segcursor_int.h"
#include "timetravel/cursor_int.h"
#include "visibility/thread_snapshot.h"

#define COMPARE_S 1 /* then it has passed the address too often to stop at it each time, and walks */
#define WALK_S 120

int cursor_at_edge(struct cursor *t, bool *yes, struct err *e)
{
	struct breaks b = {0};
	uint64_t pc, before;
	int r;

	*yes = false;
	if (trace_get_pc(&t->in.now, &pc, e))
		return -1;
	if (pc != t->history_end.pc)
		return 0;
	breaks_add(&b, pc, 0);
	r = segcur_count_stops(&t->in, &b, &before, e);
	breaks_fini(&b);
	*yes = !r && before + 1 >= t->history_end.hits;
	return r;
}

/* How many times it has been at the edge's address, now included. */
static int count_passed(struct cursor *t, uint64_t *passed, struct err *e)
{
	struct breaks b = {0};
	uint64_t pc;
	int r;

	breaks_add(&b, t->history_end.pc, 0);
	r = trace_get_pc(&t->in.now, &pc, e) || segcur_count_stops(&t->in, &b, passed, e) ? -1 : 0;
	breaks_fini(&b);
	*passed += !r && pc == t->history_end.pc;
	return r;
}

/* The next stop of the user's or at the edge's address. */
static int next(struct cursor *t, bool fresh, struct breaks *both, struct stop *stop, struct err *e)
{
	int r = fresh ? segcur_nth_stop(&t->in, both, 1, stop, e) : segcur_run(&t->in, both, stop, e);

	if (r > 0 || (!r && stop->kind == STOP_OVER))
		return err_set(e, ERR_INTERNAL, "the state of the live program is not met again behind event %llu",
			       (unsigned long long)t->history_end.n);
	return r;
}

static int run(struct cursor *t, bool fresh, const struct breaks *breaks, struct breaks *both, struct stop *stop,
	       struct err *e)
{
	uint64_t passed = 0, pc;

	if (!fresh && count_passed(t, &passed, e))
		return -1;
	for (; passed < t->history_end.hits; fresh = false) {
		if (next(t, fresh, both, stop, e) || trace_get_pc(&t->in.now, &pc, e))
			return -1;
		if (stop->kind != STOP_BREAK)
			return 0;
		passed += pc == t->history_end.pc;
		stop->kind = breaks && breaks_has(breaks, pc) ? segcur_meets(breaks, &t->in.now) : 0;
		if (stop->kind)
			return 0;
	}
	*stop = (struct stop){.kind = STOP_END};
	return 0;
}

/* As run, by walking. 1: it cannot be done so. */
static int walk(struct cursor *t, bool fresh, struct breaks *breaks, struct goal *history_end, struct stop *stop, struct err *e)
{
	int r;

	do {
		r = segcur_walk_on(&t->in, fresh, breaks, history_end, stop, e);
		fresh = false;
		if (!r && stop->kind == STOP_BREAK)
			stop->kind = segcur_meets(breaks, &t->in.now);
	} while (!r && !stop->kind);
	if (!r && stop->kind == STOP_GOAL)
		*stop = (struct stop){.kind = STOP_END};
	return r < 0 ? -1 : r > 0;
}

/* Where the edge's address is passed very often on the way there. 1: it cannot be done so. */
static int walk_to_edge(struct cursor *t, bool fresh, const struct breaks *breaks, struct stop *stop, struct err *e)
{
	struct breaks user = {0}, at = {0};
	struct goal g = {0};
	struct trace history_end;
	uint64_t before = 0;
	int r = 1;

	if (t->history_end.hits <= SEGCUR_HOT || (breaks && breaks_has(breaks, t->history_end.pc)) || !t->in.marks)
		return 1;
	if (breaks)
		breaks_add_all(&user, breaks);
	breaks_add(&at, t->history_end.pc, 0);
	if (segcur_count_before_walks(&t->in, &at, &before, e))
		r = -1;
	else if (before < t->history_end.hits)
		r = segcur_walk_to_nth(&t->in, &t->in.mark[0], &at, t->history_end.hits - before, &history_end, e);
	if (!r) {
		r = segcur_goal_init(&g, &history_end, e) ? -1 : walk(t, fresh, &user, &g, stop, e);
		segcur_drop(&history_end);
	}
	breaks_fini(&g.stop);
	breaks_fini(&at);
	breaks_fini(&user);
	return r < 0 ? -1 : r > 0;
}

int cursor_run_to_edge(struct cursor *t, bool fresh, const struct breaks *breaks, struct stop *stop, struct err *e)
{
	struct breaks both = {0};
	int r = walk_to_edge(t, fresh, breaks, stop, e);

	if (r > 0) {
		if (breaks)
			breaks_add_all(&both, breaks);
		breaks_add(&both, t->history_end.pc, 0);
		r = run(t, fresh, breaks, &both, stop, e);
		breaks_fini(&both);
	}
	if (t->mode == CURSOR_INSIDE)
		t->tid = t->in.seg.tid;
	return r;
}

int cursor_enter_last(struct cursor *t, pid_t step, struct stop *stop, struct err *e)
{
	if (cursor_enter(t, t->history_end.n, e))
		return -1;
	*stop = (struct stop){.kind = STOP_STEP};
	return step == t->in.seg.tid ? 0 : cursor_run_to_edge(t, true, &t->breaks, stop, e);
}

struct likeness {
	uint64_t hit; /* 0: none so far */
	unsigned registers; /* that differ */
	size_t stack, data;
};

/* Is this time more like the live one than all before? */
static int compare(const struct thread_snapshot *p, struct trace *now, uint64_t hit, struct likeness *best, struct err *e)
{
	struct user_regs_struct r;
	struct likeness here = {.hit = hit};

	if (trace_get_regs(now, &r, e))
		return -1;
	if (!thread_snapshot_is_like(p, &r, &here.registers) || (best->hit && here.registers > best->registers))
		return 0;
	here.stack = thread_snapshot_differs(p, now->pid, false);
	if (best->hit && here.registers == best->registers && here.stack > best->stack)
		return 0;
	here.data = thread_snapshot_differs(p, now->pid, true);
	if (!best->hit || here.registers < best->registers || here.stack < best->stack || here.data < best->data)
		*best = here;
	return 0;
}

/* Through the segment, which ends where the live process has not come yet. 1: that takes too long; hit: so far it has come. */
static int most_alike(struct cursor *t, const struct thread_snapshot *p, struct breaks *at, struct likeness *best, uint64_t *hit,
		      struct err *e)
{
	double end = clock_s() + COMPARE_S;
	struct stop stop = {0};
	int r;

	*hit = 0;
	for (r = segcur_nth_stop(&t->in, at, 1, &stop, e); !r && stop.kind != STOP_OVER; r = segcur_run(&t->in, at, &stop, e)) {
		if (stop.kind == STOP_BREAK && compare(p, &t->in.now, ++*hit, best, e))
			return -1;
		if (best->hit && !best->registers && !best->stack && !best->data)
			return 0;
		if (clock_s() > end)
			return 1;
	}
	return r < 0 ? -1 : 0;
}

struct history_end_walk {
	const struct thread_snapshot *p;
	pid_t base;
	struct likeness *best;
};

static int is_alike(void *ctx, struct trace *now, struct walk_tell *tell, struct err *e)
{
	struct history_end_walk *w = ctx;

	thread_snapshot_tell(w->p, now->pid, w->base, tell);
	if (tell->n)
		return 0;
	w->best->stack = thread_snapshot_differs(w->p, now->pid, false);
	w->best->data = thread_snapshot_differs(w->p, now->pid, true);
	return 1;
}

/* As most_alike; 1: it does not come to be alike. */
static int walk_to_alike(struct cursor *t, const struct thread_snapshot *p, struct breaks *at, struct likeness *best, struct err *e)
{
	struct history_end_walk w = {p, t->in.base.pid, best};
	struct walked there;
	uint64_t before;
	int r = segcur_walk_to_state(&t->in, &p->regs, WALK_S, is_alike, &w, &there, e);

	if (r)
		return r < 0 ? -1 : 1;
	segcur_drop(&there.t);
	if (segcur_count_before_walks(&t->in, at, &before, e))
		return -1;
	best->hit = before + there.times;
	return 0;
}

static int find_edge(struct cursor *t, const struct thread_snapshot *p, struct err *e)
{
	struct likeness best = {0};
	struct breaks at = {0};
	struct stop stop;
	uint64_t hit = 0;
	int r = cursor_enter(t, t->history_end.n, e);

	breaks_add(&at, p->regs.rip, 0);
	if (!r)
		r = most_alike(t, p, &at, &best, &hit, e);
	if (r > 0)
		r = cursor_enter(t, t->history_end.n, e) ? -1 : walk_to_alike(t, p, &at, &best, e);
	t->history_end.found = HISTORY_END_EXACT;
	if (r > 0) {
		t->history_end.found = HISTORY_END_EARLIER;
		best = (struct likeness){.hit = hit};
		r = 0;
	} else if (best.registers || best.stack || best.data) {
		t->history_end.found = HISTORY_END_ALIKE;
	}
	if (!r && best.hit) {
		/* what is behind it has not happened */
		r = cursor_enter(t, t->history_end.n, e) || segcur_nth_stop(&t->in, &at, best.hit, &stop, e) ? -1 : 0;
	} else if (r >= 0) {
		r = err_set(e, ERR_INTERNAL, "the replay does not come to 0x%llx, where the live program stands, behind event %llu",
			    (unsigned long long)p->regs.rip, (unsigned long long)t->history_end.n);
	}
	log_info("event %llu, time %llu at 0x%llx: %u registers, %zu words of the stack, %zu of the data differ", (unsigned long long)t->history_end.n,
		 (unsigned long long)best.hit, (unsigned long long)p->regs.rip, best.registers, best.stack, best.data);
	breaks_fini(&at);
	t->history_end.hits = best.hit;
	return r;
}

int cursor_goto_live(struct cursor *t, const struct thread_snapshot *p, struct err *e)
{
	if (p->in_call)
		return cursor_goto(t, nav_total(t->nav), e);
	t->history_end = (struct history_end){.n = nav_total(t->nav) - 1, .pc = p->regs.rip};
	if (find_edge(t, p, e))
		return -1;
	t->history_end.on = true;
	return 0;
}
