/* SPDX-License-Identifier: MIT */
/* local_count.c: see local_count.h. */
#define LOG_DOMAIN "count"
#include "trace/local_count.h"

#include "base/clock.h"
#include "base/log.h"

#define STEPS_MAX 200000u /* up to the next branch: the recorder's own code may lie in between */
#define BREAK_SLOT 0
#define SYSCALL 0x050f /* as two bytes of code */

/* A bisection over numbered states: `at` is the left end's number, which is good, `end` is the first known to be bad.
 */
struct counting {
	struct local *l;
	enum { COUNT_BRANCHES, COUNT_STEPS } unit;
	struct trace_local_place base; /* of state 0 */
	uint64_t at, end;
	uint64_t end_pc; /* of state `end`; 0: it is the segment's end, or not known */
};

/* A copy evaluated as good becomes the left end, and that is where it is. */
static void adopt_at(struct local *l, const struct trace *copy, const struct trace_words *words,
		     struct trace_local_place place)
{
	local_adopt(l, copy, words);
	l->place = place;
}

/* Of a state on the way of the bisection. */
static struct trace_local_place place_of(const struct counting *c, uint64_t number)
{
	struct trace_local_place p = c->base;

	*(c->unit == COUNT_BRANCHES ? &p.branches : &p.steps) += number;
	return p;
}

/*
 * Bisects until one unit is left. move brings a copy of the left end forward by so many units; *missed when it did not
 * come there. 1: it was given up.
 */
static int halve(struct counting *c,
		 int (*move)(struct counting *c, struct trace *copy, uint64_t units, bool *missed, struct err *e),
		 struct err *e)
{
	struct local *l = c->l;

	while (c->end - c->at > 1) {
		uint64_t mid = c->at + (c->end - c->at) / 2;
		struct trace_words words;
		struct trace copy;
		bool bad = false, missed = false;

		if (local_fork_left(l, &copy, e))
			return -1;
		if (move(c, &copy, mid - c->at, &missed, e) || (!missed && local_evaluate(l, &copy, &bad, &words, e))) {
			trace_kill(&copy);
			return -1;
		}
		if (bad || missed) {
			trace_kill(&copy);
			if (missed)
				return 1;
			c->end = mid;
			continue;
		}
		adopt_at(l, &copy, &words, place_of(c, mid));
		c->at = mid;
	}
	return 0;
}

/* ---- branches ---- */

static int walk_ended(void *ctx, struct trace *t, bool *ended, struct err *e)
{
	struct local *l = ctx;

	*ended = true;
	return l->ops->ended ? l->ops->ended(l->ctx, t, ended, e) : 0;
}

static bool walk_cancelled(void *ctx)
{
	struct local *l = ctx;

	return l->ops->cancelled && l->ops->cancelled(l->ctx);
}

int local_walk_on(struct local *l, struct trace *t, struct trace_walk *w, bool *ended, struct err *e)
{
	static const struct trace_walk_ops ops = {.ended = walk_ended, .cancelled = walk_cancelled};
	uint64_t start = clock_ns();
	int r;

	w->enter = l->p->walk;
	w->gadget = l->p->gadget;
	w->end_watch = l->p->end_watch;
	w->ops = &ops;
	w->ctx = l;
	w->ask.count_branches = 1;
	if (trace_clear_all(t, e))
		return -1;
	r = trace_walk_go(w, t, e);
	*ended = r == WALK_OVER;
	l->r->run_ns += clock_ns() - start;
	if ((r == WALK_THERE || r == WALK_LEFT) && local_arm_end(l, t, e))
		return -1;
	return r;
}

int local_walk_copy(struct local *l, struct trace *copy, uint64_t nth, struct trace_walk *w, bool *ended, struct err *e)
{
	uint64_t pc, here = 0;
	int r;

	*w = (struct trace_walk){.ask.nth_branch = nth};
	if (l->p->end_break) {
		if (trace_get_pc(copy, &pc, e))
			return -1;
		here = pc == l->p->end_break; /* where it stands has been counted, and is counted again */
		w->ask.places = 1;
		w->ask.place[0] = l->p->end_break;
		w->ask.nth = l->p->end_hits - copy->passes + here;
	}
	r = local_walk_on(l, copy, w, ended, e);
	copy->passes += w->ask.arrivals - (w->ask.arrivals ? here : 0);
	*ended |= r == WALK_THERE && l->p->end_break && copy->passes == l->p->end_hits;
	return r;
}

/* The left end stands before its first branch already, unless it is where it began. */
static int move_branches(struct counting *c, struct trace *copy, uint64_t units, bool *missed, struct err *e)
{
	struct trace_walk w;
	bool ended;
	int r = local_walk_copy(c->l, copy, units + (c->at > 0), &w, &ended, e);

	*missed = r != WALK_THERE || ended;
	return r < 0 ? -1 : 0;
}

enum counted {
	COUNTED_END, /* up to the segment's end */
	COUNTED_BAD, /* up to where the code cannot be translated; it is bad there */
	COUNTED_GOOD, /* the same, but good: the left end is there */
	COUNTED_NOT,
};

/* Counts the branches that are left, to c->end. enum counted, or -1. */
static int count_branches(struct counting *c, struct err *e)
{
	struct local *l = c->l;
	uint64_t start = clock_ns();
	struct trace_words words;
	struct trace copy;
	struct trace_walk w;
	bool ended, bad = true;
	int r;

	if (local_fork_left(l, &copy, e))
		return -1;
	r = local_walk_copy(l, &copy, 0, &w, &ended, e);
	if (r == WALK_LEFT && local_evaluate(l, &copy, &bad, &words, e))
		r = -1;
	*c = (struct counting){
		.l = l, .base = l->place, .end = w.ask.branches + 1, .end_pc = r == WALK_LEFT ? w.ask.at : 0};
	log_info("%llu branches in %llu us, %s 0x%llx", (unsigned long long)w.ask.branches,
		 (unsigned long long)(clock_ns() - start) / 1000,
		 ended		  ? "to the end of the segment"
		 : r == WALK_LEFT ? "to untranslated code at"
				  : "lost from",
		 (unsigned long long)(r == WALK_LEFT ? w.ask.at : w.ask.pc));
	if (r == WALK_LEFT && !bad) { /* the place of the gap that is to be gone over next */
		adopt_at(l, &copy, &words, (struct trace_local_place){l->place.known, l->place.gaps});
		return COUNTED_GOOD;
	}
	trace_kill(&copy);
	if (r < 0)
		return -1;
	return !w.ask.branches_at ? COUNTED_NOT : ended ? COUNTED_END : r == WALK_LEFT ? COUNTED_BAD : COUNTED_NOT;
}

/* Natively to pc, with this stack pointer. 1: it does not come there. */
static int run_to(struct local *l, struct trace *t, uint64_t pc, uint64_t sp, struct err *e)
{
	struct user_regs_struct regs;
	enum local_move how = LOCAL_MOVED;

	for (unsigned i = 0; i < l->free_slots; i++)
		if (trace_clear(t, i, e))
			return -1;
	while (how == LOCAL_MOVED) {
		if (trace_set_break(t, BREAK_SLOT, pc, e) || local_run_to_slot(l, t, BREAK_SLOT, &how, e) ||
		    trace_clear(t, BREAK_SLOT, e))
			return -1;
		if (how != LOCAL_MOVED)
			return 1;
		if (trace_get_regs(t, &regs, e))
			return -1;
		if (regs.rip == pc && regs.rsp == sp)
			return 0;
	}
	return 1;
}

/* ---- instructions ---- */

static int move_steps(struct counting *c, struct trace *copy, uint64_t units, bool *missed, struct err *e)
{
	enum local_move how;
	uint64_t done;

	c->l->words.complete = false; /* so that each instruction counts */
	if (local_advance(c->l, copy, LOCAL_STEP, units, 0, &done, &how, e))
		return -1;
	*missed = how != LOCAL_MOVED || done != units;
	return 0;
}

/* How many instructions there are until one before c->end_pc, or to the segment's end. 1: too many. */
static int count_steps(struct counting *c, uint64_t *n, struct err *e)
{
	struct local *l = c->l;
	enum local_move how = LOCAL_MOVED;
	struct trace copy;
	uint64_t done, pc = 0;
	int r = 0;

	*n = 0;
	if (local_fork_left(l, &copy, e))
		return -1;
	l->words.complete = false;
	while (!r && how == LOCAL_MOVED && *n < STEPS_MAX && (!*n || !c->end_pc || pc != c->end_pc)) {
		r = local_advance(l, &copy, LOCAL_STEP, 1, 0, &done, &how, e);
		*n += !r && done;
		if (!r && c->end_pc && how == LOCAL_MOVED)
			r = trace_get_pc(&copy, &pc, e);
	}
	trace_kill(&copy);
	return r ? -1 : *n == STEPS_MAX || how == LOCAL_EXITED;
}

/* What is left lies between two branches: watched, or stepped through. */
static int last_unit(struct counting *c, enum local_verdict *v, struct err *e)
{
	struct counting s = {.l = c->l, .unit = COUNT_STEPS, .base = c->l->place};
	int r;

	if (local_watchable(c->l))
		return local_go_through(c->l, LOCAL_HIT, 0, v, e);
	r = count_steps(c, &s.end, e);
	c->l->r->instructions = s.end;
	if (!r)
		r = halve(&s, move_steps, e);
	if (r)
		return r < 0 ? -1 : 0;
	c->l->words.complete = false;
	return local_go_through(c->l, LOCAL_STEP, 0, v, e);
}

/* PC of state c->end, which lies one branch behind the left end, and is not the one that was counted to. */
static int find_end_pc(struct counting *c, struct err *e)
{
	struct trace copy;
	struct trace_walk w;
	bool ended;
	int r;

	if (local_fork_left(c->l, &copy, e))
		return -1;
	r = local_walk_copy(c->l, &copy, 1 + (c->at > 0), &w, &ended, e);
	trace_kill(&copy);
	if (r == WALK_THERE && !ended)
		c->end_pc = w.ask.at;
	return r < 0 ? -1 : 0;
}

int local_cross_gap(struct local *l, struct trace *t, struct err *e)
{
	struct user_regs_struct r;
	struct trace_stop s;
	uint64_t pc, sp;
	uint16_t code;

	switch (l->ops->leave(l->ctx, t, &pc, &sp)) {
	case TRACE_LEAVES_RECORDER:
		return run_to(l, t, pc, sp, e);
	case TRACE_LOST_IN_RECORDER:
		return 1;
	case TRACE_NOT_IN_RECORDER:
		break;
	}
	if (trace_get_regs(t, &r, e) || trace_read(t->pid, r.rip, &code, sizeof(code), e))
		return -1;
	if (code == SYSCALL)
		return run_to(l, t, r.rip + sizeof(code), r.rsp, e);
	return trace_step(t, 0, &s, e) ? -1 : s.why != TRACE_STEPPED;
}

/* 1: the left end does not come behind it, or is bad there. */
static int left_over_gap(struct local *l, struct err *e)
{
	struct trace_words words;
	struct trace copy;
	bool bad = true;
	int r;

	if (local_fork_left(l, &copy, e))
		return -1;
	r = local_cross_gap(l, &copy, e);
	if (!r && local_evaluate(l, &copy, &bad, &words, e))
		r = -1;
	if (r || bad) {
		trace_kill(&copy);
		return r < 0 ? -1 : 1;
	}
	adopt_at(l, &copy, &words, (struct trace_local_place){l->place.known, l->place.gaps + 1});
	return 0;
}

/* Between the left end and the state that was counted to. */
static int bisect_branches(struct counting *c, enum local_verdict *v, struct err *e)
{
	uint64_t counted = c->end;
	int r;

	c->l->r->branches = c->end;
	r = halve(c, move_branches, e);

	if (!r && c->end != counted)
		r = find_end_pc(c, e);
	return r < 0 ? -1 : r ? 0 : last_unit(c, v, e);
}

bool local_is_in_recorder(struct local *l, struct trace *t)
{
	uint64_t pc, sp;

	return l->ops->leave(l->ctx, t, &pc, &sp) != TRACE_NOT_IN_RECORDER;
}

bool local_can_walk(const struct local *l)
{
	return l->p->walk && l->p->end_watch && !l->p->no_forks && l->ops->leave;
}

int local_by_branches(struct local *l, enum local_verdict *v, struct err *e)
{
	struct counting c = {.l = l};
	int r;

	*v = LOCAL_NOT_YET;
	if (!local_can_walk(l))
		return 0;
	r = local_is_in_recorder(l, &l->left) ? left_over_gap(l, e) : 0;
	while (!r) {
		r = count_branches(&c, e);
		if (r == COUNTED_END || r == COUNTED_BAD)
			return bisect_branches(&c, v, e);
		r = r == COUNTED_GOOD ? left_over_gap(l, e) : r;
	}
	l->place.known = false;
	return r < 0 ? -1 : 0;
}
