/* SPDX-License-Identifier: MIT */
/* local_count.c: see local_count.h. */
#define LOG_DOMAIN "count"
#include "localsearch/local_count.h"

#include "base/clock.h"
#include "base/log.h"

#define STEPS_MAX 200000u /* up to the next branch: the recorder's own code may lie in between */
#define BREAK_SLOT 0
#define GAPS_MAX 4096u
#define SYSCALL 0x050f /* as two bytes of code */

/* A bisection over numbered states: `at` is the left end's number, which is good, `end` is the first known to be bad.
 */
struct counting {
	struct local *l;
	enum { COUNT_GAPS, COUNT_BRANCHES, COUNT_STEPS } unit;
	struct trace_local_place base; /* of state 0 */
	uint64_t at, end;
	bool end_seen; /* state `end` was evaluated, and no other bad one after it */
	uint64_t end_pc; /* of state `end`; 0: it is the segment's end, or not known */
};

/* A copy evaluated as good becomes the left end, and that is where it is. */
static void adopt_at(struct local *l, const struct trace *copy, const struct trace_words *words,
		     struct trace_local_place place)
{
	local_adopt(l, copy, words);
	l->place = place;
}

/* The place of a state in the bisection. */
static struct trace_local_place place_of(const struct counting *c, uint64_t number)
{
	struct trace_local_place p = c->base;

	*(c->unit == COUNT_GAPS ? &p.gaps : c->unit == COUNT_BRANCHES ? &p.branches : &p.steps) += number;
	return p;
}

/*
 * Bisects until one unit is left. move moves a copy of the left end forward by that many units; *missed: it did not get
 * there. 1: given up.
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
			c->end_seen = true;
			continue;
		}
		adopt_at(l, &copy, &words, place_of(c, mid));
		c->at = mid;
	}
	return 0;
}

/* A copy has crossed code that cannot be walked, or has reached such code: is the expression bad there? */
static int look_where_it_left(struct local *l, struct trace *copy, bool *bad, struct trace_words *words, struct err *e)
{
	if (!local_same_words(l, &l->left, copy))
		return local_evaluate(l, copy, bad, words, e);
	*words = l->words;
	*bad = false;
	return 0;
}

/* ---- branches ---- */

static int walk_ended(void *ctx, struct trace *t, bool *ended, struct err *e)
{
	struct local *l = ctx;

	return l->ops->ended(l->ctx, t, ended, e);
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
		here = pc == l->p->end_break; /* the branch at which it stands has been counted, and is counted again */
		w->ask.places = 1;
		w->ask.place[0] = l->p->end_break;
		w->ask.nth = l->p->end_hits - copy->passes + here;
	}
	r = local_walk_on(l, copy, w, ended, e);
	copy->passes += w->ask.arrivals - (w->ask.arrivals ? here : 0);
	*ended |= r == WALK_THERE && l->p->end_break && copy->passes == l->p->end_hits;
	return r;
}

/* The left end stands before its first branch, unless it is still at the beginning. */
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
	COUNTED_BAD, /* up to code that cannot be translated; it is bad there */
	COUNTED_GOOD, /* the same, but good there: the left end is at that place */
	COUNTED_NOT,
};

/* Counts the branches after the left end, to c->end. enum counted, or -1. */
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
	if (r == WALK_LEFT && look_where_it_left(l, &copy, &bad, &words, e))
		r = -1;
	*c = (struct counting){.l = l,
			       .unit = COUNT_BRANCHES,
			       .base = l->place,
			       .end = w.ask.branches + 1,
			       .end_seen = r == WALK_LEFT,
			       .end_pc = r == WALK_LEFT ? w.ask.at : 0};
	log_info("%llu branches in %llu us, %s 0x%llx", (unsigned long long)w.ask.branches,
		 (unsigned long long)(clock_ns() - start) / 1000,
		 ended		  ? "to the end of the segment"
		 : r == WALK_LEFT ? "to untranslated code at"
				  : "lost from",
		 (unsigned long long)(r == WALK_LEFT ? w.ask.at : w.ask.pc));
	if (r == WALK_LEFT && !bad) { /* the place of the next gap */
		adopt_at(l, &copy, &words, (struct trace_local_place){l->place.known, l->place.gaps});
		return COUNTED_GOOD;
	}
	trace_kill(&copy);
	if (r < 0)
		return -1;
	return !w.ask.branches_at ? COUNTED_NOT : ended ? COUNTED_END : r == WALK_LEFT ? COUNTED_BAD : COUNTED_NOT;
}

/* Runs natively to pc with this stack pointer. 1: it does not get there. */
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

/* Each instruction counts, whether it changes anything or not. */
static int step_on(struct local *l, struct trace *t, uint64_t units, uint64_t *done, enum local_move *how,
		   struct err *e)
{
	bool complete = l->words.complete;
	int r;

	l->words.complete = false;
	r = local_advance(l, t, LOCAL_STEP, units, 0, done, how, e);
	l->words.complete = complete;
	return r;
}

static int move_steps(struct counting *c, struct trace *copy, uint64_t units, bool *missed, struct err *e)
{
	enum local_move how;
	uint64_t done;

	if (step_on(c->l, copy, units, &done, &how, e))
		return -1;
	*missed = how != LOCAL_MOVED || done != units;
	return 0;
}

/* Counts the instructions up to the one before c->end_pc, or to the segment's end. 1: too many. */
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
	while (!r && how == LOCAL_MOVED && *n < STEPS_MAX && (!*n || !c->end_pc || pc != c->end_pc)) {
		r = step_on(l, &copy, 1, &done, &how, e);
		*n += !r && done;
		if (!r && c->end_pc && how == LOCAL_MOVED)
			r = trace_get_pc(&copy, &pc, e);
	}
	trace_kill(&copy);
	return r ? -1 : *n == STEPS_MAX || how == LOCAL_EXITED;
}

/* One instruction leads from the left end to a state that was evaluated as bad: that is the transition. */
static int last_step(struct local *l, enum local_verdict *v, struct err *e)
{
	enum local_move how;
	uint64_t done;

	if (step_on(l, &l->left, 1, &done, &how, e))
		return -1;
	if (how != LOCAL_MOVED)
		return err_set(e, ERR_INTERNAL, "the thread's instructions are not the same each time");
	l->place.steps += done;
	*v = local_answer(l, TRACE_LOCAL_FOUND);
	return 0;
}

/*
 * The rest lies between two branches: bisects the instructions, unless the first change of the words is the transition.
 */
static int last_unit(struct counting *c, enum local_verdict *v, struct err *e)
{
	struct counting s = {.l = c->l, .unit = COUNT_STEPS, .end_seen = c->end_seen};
	int r;

	if (local_watchable(c->l)) {
		if (local_one_in_place(c->l, LOCAL_HIT, 0, v, e))
			return -1;
		if (*v == LOCAL_ANSWERED)
			return 0;
		s.end_seen = false;
	}
	s.base = c->l->place;
	r = count_steps(c, &s.end, e);
	c->l->r->instructions = s.end;
	if (!r)
		r = halve(&s, move_steps, e);
	if (r)
		return r < 0 ? -1 : 0;
	return s.end_seen ? last_step(c->l, v, e) : local_go_through(c->l, LOCAL_STEP, 0, v, e);
}

/* Finds the PC of state c->end, which is one branch after the left end and was not itself walked to. */
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

/* ---- gaps ---- */

int local_over_gap(struct local *l, struct trace *t, uint64_t *branches, bool *ended, struct err *e)
{
	struct trace_walk w = {.ask.nth_branch = 0};
	int r;

	*ended = false;
	*branches = 0;
	if (local_is_in_recorder(l, t))
		return local_cross_gap(l, t, e);
	r = local_walk_copy(l, t, 0, &w, ended, e);
	*branches = w.ask.branches;
	return r < 0 ? -1 : r == WALK_LEFT && !*ended ? local_cross_gap(l, t, e) : 1;
}

static int move_gaps(struct counting *c, struct trace *copy, uint64_t units, bool *missed, struct err *e)
{
	uint64_t branches;
	bool ended;
	int r = 0;

	while (!r && units--)
		r = local_over_gap(c->l, copy, &branches, &ended, e);
	*missed = r == 1;
	return r < 0 ? -1 : 0;
}

/*
 * Counts the gaps after the left end. *branches: those after the last gap, if the segment ends there; 0: it does not,
 * or they are too many.
 */
static int count_gaps(struct local *l, uint64_t *gaps, uint64_t *branches, struct err *e)
{
	struct trace copy;
	bool ended = false;
	int r = local_fork_left(l, &copy, e);

	if (r)
		return -1;
	for (*gaps = 0; !r && *gaps < GAPS_MAX; *gaps += !r)
		r = local_over_gap(l, &copy, branches, &ended, e);
	trace_kill(&copy);
	if (!ended)
		*branches = 0;
	return r < 0 ? -1 : 0;
}

/* If what the expression reads is the same after the first gap, the left end moves there without an evaluation. */
static int over_first_gap(struct counting *c, struct err *e)
{
	struct local *l = c->l;
	struct trace copy;
	bool missed;

	if (!l->words.complete || c->end < 2)
		return 0;
	if (local_fork_left(l, &copy, e))
		return -1;
	if (move_gaps(c, &copy, 1, &missed, e)) {
		trace_kill(&copy);
		return -1;
	}
	if (missed || !local_same_words(l, &l->left, &copy)) {
		trace_kill(&copy);
		return 0;
	}
	adopt_at(l, &copy, &l->words, place_of(c, 1));
	c->at = 1;
	return 0;
}

/* Bisects between the left end and the state up to which branches were counted. */
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
	return l->p->walk && l->p->end_watch && !l->p->no_forks && l->ops->leave && l->ops->ended;
}

/*
 * Finds the part between two gaps in which the transition is; then bisects its branches. *c: describes these. enum
 * counted, or -1.
 */
static int find_stretch(struct counting *c, struct err *e)
{
	struct counting g = {.l = c->l, .unit = COUNT_GAPS, .base = c->l->place};
	uint64_t gaps, branches = 0;
	int r = count_gaps(c->l, &gaps, &branches, e);

	if (r)
		return -1;
	g.end = gaps + 1;
	c->l->r->gaps = g.end;
	r = over_first_gap(&g, e) ? -1 : halve(&g, move_gaps, e);
	if (r)
		return r < 0 ? -1 : COUNTED_NOT;
	if (local_is_in_recorder(c->l, &c->l->left))
		return COUNTED_NOT;
	if (g.at < gaps || !branches)
		return count_branches(c, e);
	*c = (struct counting){.l = c->l, .unit = COUNT_BRANCHES, .base = c->l->place, .end = branches + 1};
	return COUNTED_END;
}

int local_by_branches(struct local *l, enum local_verdict *v, struct err *e)
{
	struct counting c = {.l = l};
	int r;

	*v = LOCAL_NOT_YET;
	if (!local_can_walk(l))
		return 0;
	r = find_stretch(&c, e);
	if (r == COUNTED_END || r == COUNTED_BAD)
		return bisect_branches(&c, v, e);
	l->place.known = false;
	return r < 0 ? -1 : 0;
}
