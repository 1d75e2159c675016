/* SPDX-License-Identifier: MIT */
/* local_line.c: see local_line.h. */
#define LOG_DOMAIN "line"
#include "localsearch/local_line.h"

#include "base/log.h"
#include "localsearch/line.h"
#include "localsearch/local_count.h"
#include "localsearch/local_place.h"
#include "trace/rep.h"

#define NEAR_STEPS                                                                                                     \
	4096u /* from before the last branch to the transition: functions of the recorder may be in between */
#define NO_STEPS_MAX 16 /* successive stops for other reasons */
#define BASE_BRANCHES 16384u /* about as many as there are in BACK_STEPS, at least */
#define PARTS_MAX 64u
/* instructions: a statement's beginning is searched for at most this far back: 0.3 s */
#define BACK_STEPS 60000u

/* One instruction. *over: the thread has come to the end of the segment, or died. */
static int step(struct local *l, struct trace *t, bool *changed, bool *over, struct err *e)
{
	enum local_move how;
	uint64_t done;

	if (local_advance(l, t, LOCAL_STEP, 1, 1, &done, &how, e))
		return -1;
	*changed = done;
	*over = how == LOCAL_ENDED || how == LOCAL_EXITED;
	return 0;
}

/* The same for a copy in which only the end is watched. */
static int quick_step(struct local *l, struct trace *t, bool *over, struct err *e)
{
	struct trace_stop s = {0};

	for (unsigned i = 0; s.why != TRACE_STEPPED && s.why != TRACE_SIGNAL; i++) {
		if (trace_step(t, 0, &s, e))
			return -1;
		if (!t->alive || i == NO_STEPS_MAX)
			break;
	}
	*over = !t->alive || s.why != TRACE_STEPPED;
	return !*over && s.slots && l->ops->ended ? l->ops->ended(l->ctx, t, over, e) : 0;
}

/* Has the thread arrived at pc? A repeated instruction counts as one arrival. */
static int comes_to(struct trace *t, uint64_t pc, bool *yes, struct err *e)
{
	struct user_regs_struct r;

	if (trace_get_regs(t, &r, e))
		return -1;
	*yes = r.rip == pc && !trace_in_rep(t, &r);
	return 0;
}

static int begins(struct local *l, struct trace *t, struct trace_line *line, bool *yes, uint64_t *pc, struct err *e)
{
	bool first = false;
	uint64_t number;

	if (trace_get_pc(t, pc, e))
		return -1;
	number = l->ops->line(l->ctx, t, *pc, &first);
	*yes = trace_line_begins(line, number, *pc, first);
	return 0;
}

/* ---- after a change ---- */

static int go_through(struct local *l, struct trace *copy, struct trace_line *line, bool *bad, struct err *e)
{
	bool other = false, over = false, changed;
	struct trace_words words;
	uint64_t pc;

	for (unsigned i = 0; i < TRACE_LINE_STEPS && !over && !other; i++) {
		if (step(l, copy, &changed, &over, e))
			return -1;
		if (!copy->alive)
			return 0;
		if (changed) {
			bool now;

			if (local_evaluate(l, copy, &now, &words, e))
				return -1;
			if (!l->none)
				*bad = now;
			l->words = words;
		}
		if (!over && begins(l, copy, line, &other, &pc, e))
			return -1;
	}
	return 0;
}

/* What examining a copy must leave unchanged. */
struct saved {
	struct trace_words words;
	struct user_regs_struct before;
	bool before_known, none;
	uint64_t steps;
};

static void save(const struct local *l, struct saved *k)
{
	*k = (struct saved){l->words, l->before, l->before_known, l->none, l->r->steps};
}

static void restore(struct local *l, const struct saved *k)
{
	l->words = k->words;
	l->before = k->before;
	l->before_known = k->before_known;
	l->none = k->none;
	l->r->steps = k->steps;
}

int local_stays(struct local *l, struct trace *t, bool bad, bool *stays, struct err *e)
{
	struct trace_line line = {0};
	struct trace copy;
	struct saved saved;
	bool other, ignored, now = bad;
	uint64_t pc;
	int r;

	*stays = true;
	if (!l->ops->line || l->p->no_forks)
		return 0;
	if (trace_get_pc(t, &pc, e))
		return -1;
	line = (struct trace_line){l->ops->line(l->ctx, t, pc - 1, &ignored), pc - 1};
	if (begins(l, t, &line, &other, &pc, e))
		return -1;
	if (other)
		return 0;
	if (local_fork(l, t, &copy, e))
		return -1;
	copy.aside = true;
	save(l, &saved);
	r = go_through(l, &copy, &line, &now, e);
	restore(l, &saved);
	trace_kill(&copy);
	*stays = now == bad;
	return r;
}

/* ---- where the statement of a transition begins ---- */

/* The search for it. */
struct line_search {
	struct local *l;
	struct trace *begin;
	struct trace base; /* alive: a copy some branches before `near`, so that the long way is made only once */
	uint64_t base_branches;
	/* the place before the last branch before the transition, or the beginning of code that can be walked */
	struct trace_local_place near;
	uint64_t pc; /* the PC at `near` */
	uint64_t arrivals; /* arrivals at it, from the base up to `near` */
	uint64_t steps; /* instructions from `near` to the state after the transition */
	uint64_t turn; /* address of the instruction that made the transition */
	bool contradicts; /* the state before that is bad, too */
};

static bool state_equal_registers(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	return a->rip == b->rip && a->rsp == b->rsp && a->rbp == b->rbp && a->rax == b->rax && a->rbx == b->rbx &&
	       a->rcx == b->rcx && a->rdx == b->rdx && a->rsi == b->rsi && a->rdi == b->rdi && a->r8 == b->r8 &&
	       a->r9 == b->r9 && a->r10 == b->r10 && a->r11 == b->r11 && a->r12 == b->r12 && a->r13 == b->r13 &&
	       a->r14 == b->r14 && a->r15 == b->r15;
}

/* Walks from the base to before the nth branch of its part of the segment, which is not before the base. */
static int walk_from_base(struct line_search *w, struct trace *copy, uint64_t nth, uint64_t pc, uint64_t *arrivals,
			  struct err *e)
{
	struct trace_walk walk = {.ask.nth_branch = nth - w->base_branches + (w->base_branches != 0),
				  .ask.places = pc != 0};
	bool ended;
	int r;

	walk.ask.place[0] = pc;
	r = local_walk_on(w->l, copy, &walk, &ended, e);
	*arrivals = walk.ask.arrivals;
	return r < 0 ? -1 : r != WALK_THERE;
}

/*
 * Makes a copy at a place, counting arrivals at pc on the way, that state included. The way begins at the base, if
 * there is one, else at the segment's beginning. 1: it does not get there.
 */
static int copy_at(struct line_search *w, const struct trace_local_place *place, uint64_t pc, uint64_t *arrivals,
		   struct trace *copy, struct err *e)
{
	bool walks = place->branches > (w->base.alive ? w->base_branches : 0);
	uint64_t here;
	int r = 0;

	*arrivals = 0;
	if (local_fork(w->l, w->base.alive ? &w->base : w->begin, copy, e))
		return -1;
	copy->aside = true;
	if (!w->base.alive)
		r = local_go_to(w->l, copy, place, pc, arrivals, e);
	else if (walks)
		r = walk_from_base(w, copy, place->branches, pc, arrivals, e);
	if (!r && !walks) { /* the copy has not walked there, so arrivals were not counted */
		r = trace_get_pc(copy, &here, e);
		*arrivals += !r && here == pc;
	}
	if (r)
		trace_kill(copy);
	return r;
}

/* Makes the base, once w->near is known. */
static int make_base(struct line_search *w, struct err *e)
{
	struct trace_local_place at = w->near;
	struct trace base;
	uint64_t none;
	int r;

	at.branches -= at.branches < BASE_BRANCHES ? at.branches : BASE_BRANCHES;
	r = copy_at(w, &at, 0, &none, &base, e);
	if (r)
		return r;
	w->base = base;
	w->base_branches = at.branches;
	return 0;
}

static void drop_base(struct line_search *w)
{
	if (w->base.alive)
		trace_kill(&w->base);
	w->base.alive = false;
}

/* The rest of the segment: the parts that can be walked, with gaps in between, and how many branches each has. */
struct rest {
	unsigned n;
	uint64_t branches[PARTS_MAX];
};

/* t goes to the segment's end. 1: not possible. */
static int walk_rest(struct local *l, struct trace *t, struct rest *rest, struct err *e)
{
	for (rest->n = 0; rest->n < PARTS_MAX;) {
		struct trace_walk walk = {.ask.nth_branch = 0};
		bool ended;
		int r = local_walk_on(l, t, &walk, &ended, e);

		if (r < 0)
			return -1;
		if (!walk.ask.branches_at || (r != WALK_LEFT && r != WALK_OVER))
			return 1;
		rest->branches[rest->n++] = walk.ask.branches;
		if (r == WALK_OVER)
			return 0;
		r = local_cross_gap(l, t, e);
		if (r) /* this was the last gap */
			return r < 0 ? -1 : 0;
	}
	return 1;
}

/* Finds the rest of the segment after the place, or after the transition, where the held thread is. */
static int rest_of(struct line_search *w, const struct trace_local_place *place, struct rest *rest, struct err *e)
{
	struct local *l = w->l;
	struct trace copy;
	uint64_t none;
	int r;

	if (place) {
		r = copy_at(w, place, 0, &none, &copy, e);
	} else {
		r = local_is_in_recorder(l, &l->r->t) ? 1 : local_fork(l, &l->r->t, &copy, e);
		if (!r && local_arm_end(l, &copy, e)) {
			trace_kill(&copy);
			return -1;
		}
	}
	if (r)
		return r;
	r = walk_rest(l, &copy, rest, e);
	trace_kill(&copy);
	return r;
}

/* Finds where the transition is, by the rest of the segment after it. 1: not known. */
static int come_near(struct line_search *w, const struct trace_local_place *place, struct err *e)
{
	struct rest all, after;
	unsigned part;
	int r;

	w->near = (struct trace_local_place){.known = true, .gaps = local_is_in_recorder(w->l, w->begin)};
	if (place->known && place->changes <= 1 && place->gaps >= w->near.gaps) {
		w->near.gaps = place->gaps;
		w->near.branches = place->branches;
		return 0;
	}
	r = rest_of(w, NULL, &after, e);
	r = r ? r : rest_of(w, &w->near, &all, e);
	if (r)
		return r;
	if (after.n > all.n || after.branches[0] > all.branches[all.n - after.n])
		return 1;
	part = all.n - after.n;
	w->near.gaps += part;
	w->near.branches = all.branches[part] - after.branches[0];
	return 0;
}

/* Is the expression not bad yet one instruction earlier? It must not be, if this is the transition. */
static int is_good_before(struct line_search *w, bool *good, struct err *e)
{
	struct trace_words words;
	struct trace copy;
	bool over = false, changed, bad = true;
	uint64_t none;
	int r = copy_at(w, &w->near, 0, &none, &copy, e);

	*good = false;
	if (r)
		return r < 0 ? -1 : 0;
	for (uint64_t i = 1; !r && !over && i < w->steps; i++)
		r = step(w->l, &copy, &changed, &over, e);
	if (!r && !over)
		r = local_evaluate(w->l, &copy, &bad, &words, e);
	trace_kill(&copy);
	*good = !bad;
	return r;
}

/* Goes from w->near to the transition: sets w->steps. 1: the transition is not found. */
static int find_turn(struct line_search *w, struct err *e)
{
	struct local *l = w->l;
	const struct trace_local_result *found = l->r;
	struct user_regs_struct regs;
	struct trace_words words;
	struct trace copy;
	bool over = false, bad = false, changed;
	uint64_t none;
	int r = copy_at(w, &w->near, 0, &none, &copy, e);

	if (r)
		return r;
	r = trace_get_pc(&copy, &w->pc, e);
	for (w->steps = 0; !r && !bad && !over && w->steps < NEAR_STEPS;) {
		r = trace_get_pc(&copy, &w->turn, e) || step(l, &copy, &changed, &over, e) ? -1 : 0;
		w->steps++;
		if (!r && !over)
			r = trace_get_regs(&copy, &regs, e);
		if (!r && !over && state_equal_registers(&regs, &found->after))
			r = local_evaluate(l, &copy, &bad, &words, e);
	}
	trace_kill(&copy);
	if (!r && bad && w->steps > 1) {
		r = is_good_before(w, &bad, e);
		w->contradicts = !r && !bad;
	}
	return r ? -1 : !bad;
}

/*
 * Goes from `back` branches before w->near to the transition: *first is the number of instructions up to the last
 * beginning of a statement on the way, *first_pc its address; 0: there is none. 1: too far.
 */
static int go_back(struct line_search *w, const struct trace_local_place *from, uint64_t *first, uint64_t *first_pc,
		   struct err *e)
{
	struct local *l = w->l;
	struct trace_line line = {0};
	struct trace copy;
	uint64_t seen, pc, left = 0;
	bool other = false, over = false;
	int r = copy_at(w, from, w->pc, &seen, &copy, e);

	if (r)
		return r;
	*first = 0;
	r = begins(l, &copy, &line, &other, &pc, e);
	if (seen == w->arrivals)
		left = w->steps;
	for (uint64_t i = 1; !r && !over && left != 1 && i < BACK_STEPS; i++) {
		r = quick_step(l, &copy, &over, e);
		if (r || over)
			break;
		left -= left != 0;
		r = begins(l, &copy, &line, &other, &pc, e);
		if (other) {
			*first = i;
			*first_pc = pc;
		}
		if (!left && pc == w->pc && ++seen == w->arrivals)
			left = w->steps;
	}
	trace_kill(&copy);
	return r ? -1 : left != 1;
}

/*
 * Examines the state that many instructions after a place. *hits: how often the thread came to its address pc. side:
 * the expression's value there; NULL: not wanted. 1: it does not get there.
 */
static int describe(struct line_search *w, const struct trace_local_place *from, uint64_t steps, uint64_t pc,
		    uint64_t *hits, enum trace_side *side, struct err *e)
{
	bool over = false, bad = false, comes = false;
	struct trace_words words;
	struct trace copy;
	int r = copy_at(w, from, pc, hits, &copy, e);

	if (r)
		return r;
	for (uint64_t i = 0; !r && !over && i < steps; i++) {
		r = quick_step(w->l, &copy, &over, e) || (!over && comes_to(&copy, pc, &comes, e)) ? -1 : 0;
		*hits += !r && !over && comes;
	}
	if (!r && !over && side) {
		r = local_evaluate(w->l, &copy, &bad, &words, e);
		*side = w->l->none ? TRACE_NONE : bad ? TRACE_BAD : TRACE_GOOD;
	}
	trace_kill(&copy);
	return r ? -1 : over;
}

/* 1: it is not found. */
static int find_begin(struct line_search *w, struct err *e)
{
	struct trace_local_statement *s = &w->l->r->statement;
	uint64_t first = 0;

	for (uint64_t back = 0;; back = back ? back * 2 : 4) {
		struct trace_local_place from = w->near;
		int r;

		from.branches = back < from.branches - w->base_branches ? from.branches - back : w->base_branches;
		r = go_back(w, &from, &first, &s->pc, e);
		if (r)
			return r;
		if (first) {
			r = describe(w, &from, first, s->pc, &s->hits, &s->side, e);
			drop_base(w);
			/* another search up to there needs the passes of its address, from the segment's beginning */
			return r || s->side != TRACE_BAD ? r : describe(w, &from, first, s->pc, &s->hits, NULL, e);
		}
		if (from.branches == w->base_branches) {
			s->at_begin = !from.branches && from.gaps <= 1;
			return !s->at_begin;
		}
	}
}

static int find(struct line_search *w, const struct trace_local_place *place, struct err *e)
{
	struct trace_local_result *found = w->l->r;
	struct trace copy;
	int r = come_near(w, place, e);

	r = r ? r : make_base(w, e);
	r = r ? r : find_turn(w, e);
	if (!r && w->l->ops->line && !w->l->p->nth) {
		r = copy_at(w, &w->near, w->pc, &w->arrivals, &copy, e);
		if (!r)
			trace_kill(&copy);
		r = r ? r : find_begin(w, e);
		if (r < 0)
			return -1;
		found->statement.known = !r;
		r = 0;
	}
	drop_base(w);
	r = r ? r : describe(w, &w->near, w->steps - 1, w->turn, &found->turn_hits, NULL, e);
	if (!r)
		found->turn_pc = w->turn;
	return r;
}

int local_statement(struct local *l, struct trace *begin, bool *contradicts, struct err *e)
{
	struct line_search w = {.l = l, .begin = begin};
	struct trace_local_place place = l->place;
	uint64_t evaluations = l->r->evaluations;
	struct saved saved;
	int r = 1;

	*contradicts = false;
	l->r->statement = (struct trace_local_statement){0};
	if (!local_can_walk(l))
		return 0;
	save(l, &saved);
	if (local_arm_end(l, begin, e))
		return -1;
	l->hurry = false;
	r = find(&w, &place, e);
	*contradicts = w.contradicts;
	drop_base(&w);
	restore(l, &saved);
	l->r->later_evaluations += l->r->evaluations - evaluations;
	log_info("%s, 0x%llx, %llu steps after branch %llu",
		 l->r->statement.known ? "the statement begins" : "not known where the statement begins",
		 (unsigned long long)l->r->statement.pc, (unsigned long long)w.steps,
		 (unsigned long long)w.near.branches);
	return r < 0 || trace_clear_all(begin, e) ? -1 : 0;
}
