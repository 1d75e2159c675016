/* SPDX-License-Identifier: MIT */
/* local.c: the local search itself. See local.h. */
#define LOG_DOMAIN "local"
#include "localsearch/local.h"
#include "base/clock.h"
#include "base/log.h"
#include "localsearch/local_count.h"
#include "localsearch/local_guess.h"
#include "localsearch/local_insn.h"
#include "localsearch/local_last.h"
#include "localsearch/local_line.h"
#include <string.h>

#define HITS_LIMIT 5000
#define SETTLE_HITS_NS 30000
#define SETTLE_STEPS_NS 20000
#define FIRST_RUN_NS 100000
#define NO_LIMIT (UINT64_MAX / 2)
/* A run this many times as long as what is aimed at, seen to end bad, is short enough: halving it costs
 * copies whose own start takes as long. */
#define SETTLE_ENOUGH 3
#define RAW_LIMIT 200000 /* hits or steps before the search goes by time once more */
#define TRIES 3 /* of the whole search, if what is found is not the transition */
#define STRETCHES 16 /* parts of a segment that begins bad, in each of which some states are examined */
/* time for the search for later transitions */
#define LASTING_NS 1000000000u

/* One probe by time: a copy runs for cpu_ns. */
static int probe(struct local *l, uint64_t cpu_ns, uint64_t *ran, bool *good, enum local_verdict *v, struct err *e)
{
	struct trace copy;
	enum local_move how;

	if (local_fork_left(l, &copy, e))
		return -1;
	if (local_run(l, &copy, cpu_ns, ran, &how, e)) {
		trace_kill(&copy);
		return -1;
	}
	return local_judge_copy(l, &copy, how, good, v, e);
}

/* Makes runs that double in length, beginning with *run, until one ends bad: *span is how long that one took. */
static int double_up(struct local *l, uint64_t run, uint64_t *span, enum local_verdict *v, struct err *e)
{
	bool good = true;

	while (good) {
		if (probe(l, run, span, &good, v, e))
			return -1;
		if (*v == LOCAL_ANSWERED)
			return 0;
		run *= 2;
	}
	return 0;
}

/*
 * Halves the span. Afterwards *sure tells whether the last run from the present left end ended bad within it. After a
 * good run the span is only an estimate, since starting a copy takes CPU time as well.
 */
static int halve(struct local *l, uint64_t settle_ns, uint64_t *span, bool *sure, enum local_verdict *v, struct err *e)
{
	uint64_t ran;
	bool good;

	*sure = true;
	while (*span > (*sure ? SETTLE_ENOUGH : 1) * settle_ns) {
		if (probe(l, *span / 2, &ran, &good, v, e))
			return -1;
		if (*v == LOCAL_ANSWERED)
			return 0;
		*sure = !good;
		if (ran >= *span) /* finer than the clock can do */
			return 0;
		*span = good ? *span - ran : ran;
	}
	return 0;
}

/* Moves the left end so far that a bad state follows after about settle_ns. */
static int narrow(struct local *l, uint64_t settle_ns, enum local_verdict *v, struct err *e)
{
	uint64_t span = 0, run = FIRST_RUN_NS;
	bool sure = false;

	while (!sure) {
		if (double_up(l, run, &span, v, e))
			return -1;
		if (*v == LOCAL_ANSWERED)
			return 0;
		if (halve(l, settle_ns, &span, &sure, v, e))
			return -1;
		if (*v == LOCAL_ANSWERED)
			return 0;
		run = settle_ns;
	}
	l->span_ns = span;
	*v = LOCAL_NARROWED;
	return 0;
}

static enum local_unit unit_of(const struct local *l)
{
	return local_watchable(l) ? LOCAL_HIT : LOCAL_STEP;
}

static uint64_t or_default(uint64_t v, uint64_t d)
{
	return v ? v : d;
}

static uint64_t settle_ns(const struct local *l)
{
	return unit_of(l) == LOCAL_HIT ? or_default(l->p->settle_hits_ns, SETTLE_HITS_NS)
				       : or_default(l->p->settle_steps_ns, SETTLE_STEPS_NS);
}

/* Searches with guessed words. A guess that proves wrong is dropped, and the left end is where it was. */
static int by_guess(struct local *l, uint64_t cpu_ns, uint64_t limit, enum local_verdict *v, struct err *e)
{
	if (!l->guess.n && local_guess(l, cpu_ns, v, e))
		return -1;
	return l->guess.n ? local_guided(l, limit, v, e) : 0;
}

/* The rest is short: searches hit by hit, or instruction by instruction. */
static int settle(struct local *l, enum local_verdict *v, struct err *e)
{
	if ((l->guess.n || !local_watchable(l)) && by_guess(l, l->span_ns + l->span_ns / 4, RAW_LIMIT, v, e))
		return -1;
	if (*v == LOCAL_ANSWERED || l->guess.n)
		return 0;
	return local_go_through(l, unit_of(l), RAW_LIMIT, v, e);
}

static int search_once(struct local *l, struct err *e)
{
	enum local_verdict v = LOCAL_NOT_YET;
	uint64_t limit = or_default(l->p->hits_limit, HITS_LIMIT);

	if (l->p->no_forks)
		return local_go_through(l, unit_of(l), 0, &v, e);
	if (local_by_branches(l, &v, e))
		return -1;
	if (v != LOCAL_ANSWERED && local_watchable(l) && local_go_through(l, LOCAL_HIT, limit, &v, e))
		return -1;
	if (v != LOCAL_ANSWERED && !local_watchable(l) && by_guess(l, NO_LIMIT, limit, &v, e))
		return -1;
	while (v != LOCAL_ANSWERED) {
		if (narrow(l, settle_ns(l), &v, e))
			return -1;
		if (v != LOCAL_ANSWERED && settle(l, &v, e))
			return -1;
	}
	return 0;
}

static int search(struct local *l, struct err *e)
{
	struct trace_local_result first = {0};
	uint64_t before = 0;
	int again = 1;

	while (again == 1) {
		if (search_once(l, e))
			return -1;
		if (before) { /* it belongs to a later change */
			l->r->later_evaluations += l->r->evaluations - before;
			l->r->gaps = first.gaps;
			l->r->branches = first.branches;
			l->r->instructions = first.instructions;
		}
		first = *l->r;
		if (l->r->outcome != TRACE_LOCAL_FOUND)
			return 0;
		if (!l->lasting.ns)
			local_begin_lasting(l, or_default(l->p->lasting_ns, LASTING_NS));
		again = local_look_later(l, e);
		before = l->r->evaluations;
	}
	return again;
}

/* Goes from change to change to the nth transition. bad: the first state is bad. */
static int search_nth(struct local *l, bool bad, struct err *e)
{
	enum local_verdict v = LOCAL_NOT_YET;
	uint64_t n = 0;
	bool good = !bad, stays;

	for (;;) {
		if (local_one_in_place(l, LOCAL_HIT, 0, &v, e))
			return -1;
		bad = v == LOCAL_ANSWERED && l->r->outcome == TRACE_LOCAL_FOUND;
		stays = !l->none && bad == good;
		if (v == LOCAL_ANSWERED && !bad) {
			if (!good)
				local_answer(l, TRACE_LOCAL_BAD);
			return 0;
		}
		if (stays && local_stays(l, &l->left, bad, &stays, e))
			return -1;
		if (stays && bad && (l->r->turns = ++n) == l->p->nth)
			return 0;
		good = stays ? !bad : good;
		if (!local_watchable(l))
			return err_set(e, ERR_HOST, "the expression reads too many words to count its changes");
	}
}

/*
 * The segment begins with a bad state: is there a good one, followed by a bad one? If it is not known what the
 * expression reads, some states of each part are examined.
 */
static int begin_bad(struct local *l, struct err *e)
{
	uint64_t most = l->p->lasting_ns ? NO_LIMIT : STRETCHES;
	bool good = false;
	int again, moved;

	l->r->begins_bad = true;
	local_answer(l, TRACE_LOCAL_BAD);
	local_begin_lasting(l, or_default(l->p->lasting_ns, LASTING_NS));
	again = local_look_later(l, e);
	while (!again && most-- && !local_watchable(l)) {
		moved = local_next_stretch(l, &good, e);
		if (moved != 1)
			return moved;
		again = good ? 1 : local_look_later(l, e);
	}
	return again == 1 ? search(l, e) : again;
}

/* Gives the final state and the original to the caller. */
static int finish(struct local *l, struct trace *t, struct err *e)
{
	struct trace_local_result *r = l->r;

	if (l->left_is_copy)
		*t = l->original;
	r->t = l->left;
	r->is_copy = l->left_is_copy;
	if (t->alive && r->is_copy && trace_clear_all(t, e))
		return -1;
	if (r->outcome == TRACE_LOCAL_EXITED || !r->t.alive) {
		if (!r->is_copy)
			*t = l->left;
		return 0;
	}
	if (trace_clear_all(&r->t, e) || trace_get_regs(&r->t, &r->after, e))
		return -1;
	if (!r->is_copy)
		*t = r->t;
	r->before_known = l->before_known && r->outcome == TRACE_LOCAL_FOUND;
	r->before = l->before;
	r->place = l->place;
	local_insn_describe(r, &l->words);
	return 0;
}

static int give_up(struct local *l, struct trace *t)
{
	struct err ignored;

	if (l->left_is_copy) {
		trace_kill(&l->left);
		*t = l->original;
	} else {
		*t = l->left;
	}
	if (t->alive)
		trace_clear_all(t, &ignored);
	memset(&l->r->t, 0, sizeof(l->r->t));
	return -1;
}

/* Lets a copy go on, so that the beginning stays available. */
static int leave_begin(struct local *l, struct err *e)
{
	struct trace copy;

	if (local_fork_left(l, &copy, e))
		return -1;
	local_replace_left(l, &copy);
	l->place.known = true;
	return 0;
}

static int begin(struct local *l, struct err *e)
{
	struct trace_words words;
	bool bad;

	l->free_slots = local_free_slots(l);
	if (trace_clear_all(&l->left, e) || local_arm_end(l, &l->left, e) ||
	    local_evaluate(l, &l->left, &bad, &words, e))
		return -1;
	l->words = words;
	if (local_can_walk(l) && leave_begin(l, e))
		return -1;
	if (l->p->nth && local_watchable(l))
		return search_nth(l, bad, e);
	return bad ? begin_bad(l, e) : search(l, e);
}

/*
 * Is the result the transition? A processor may miss a hit of a debug register (local_last.c), so that a later change
 * is taken for it. 1: it is not, and the search has to be repeated.
 */
static int verify(struct local *l, struct trace *begin, bool last_try, struct err *e)
{
	struct trace_words words;
	bool bad, contradicts;

	if (local_statement(l, begin, &contradicts, e))
		return -1;
	if (contradicts) { /* if a string instruction is in progress, this is so each time */
		log_warn("it was bad before the transition, too");
		if (!last_try)
			return 1;
	}
	if (l->r->turn_hits)
		return 0;
	l->r->t.aside = true;
	if (local_evaluate(l, &l->r->t, &bad, &words, e))
		return -1;
	l->r->t.aside = false;
	l->r->later_evaluations++;
	if (bad)
		return 0;
	return last_try ? err_set(e, ERR_HOST,
				  "the debug registers of this processor have missed a change: the search found a "
				  "transition after which the expression is not bad; try again")
			: 1;
}

static int search_and_verify(struct trace *t, const struct trace_local_params *p, const struct trace_local_ops *ops,
			     void *ctx, struct trace_local_result *r, bool last_try, struct err *e)
{
	struct local l = {.p = p, .ops = ops, .ctx = ctx, .r = r, .left = *t, .place = {.known = true}};
	int again;

	memset(r, 0, sizeof(*r));
	if (begin(&l, e) || finish(&l, t, e))
		return give_up(&l, t);
	again = r->outcome == TRACE_LOCAL_FOUND && r->is_copy && local_can_walk(&l) ? verify(&l, t, last_try, e) : 0;
	if (again < 0)
		return give_up(&l, t);
	if (again) {
		log_info("the search is made again");
		trace_kill(&r->t);
		return 1;
	}
	if (!r->pc_insn && r->turn_hits)
		r->pc_insn = r->pc_inside = r->turn_pc;
	return 0;
}

static int search_until_verified(struct trace *t, const struct trace_local_params *p, const struct trace_local_ops *ops,
				 void *ctx, struct trace_local_result *r, struct err *e)
{
	unsigned tries = 0;
	int again;

	do
		again = search_and_verify(t, p, ops, ctx, r, ++tries == TRIES, e);
	while (again == 1);
	return again;
}

static void drop(struct trace_local_result *r)
{
	if (r->is_copy && r->t.alive)
		trace_kill(&r->t);
}

/* later_evaluations: one search finds the transition, and the others confirm it. */
static void add_work(struct trace_local_result *r, const struct trace_local_result *other)
{
	r->evaluations += other->evaluations;
	r->later_evaluations += other->evaluations;
	r->evaluate_ns += other->evaluate_ns;
	r->forks += other->forks;
	r->fork_ns += other->fork_ns;
	r->run_ns += other->run_ns;
}

/*
 * A missed hit changes which transition is the nth one, so that a result needs another search that finds the same,
 * directly after the one that found it. t stands at the beginning: see begin.
 */
static int count_twice(struct trace *t, const struct trace_local_params *p, const struct trace_local_ops *ops,
		       void *ctx, struct trace_local_result *r, struct err *e)
{
	for (unsigned tries = 0;; tries++) {
		struct trace_local_result before = *r;

		drop(&before);
		if (search_until_verified(t, p, ops, ctx, r, e))
			return -1;
		add_work(r, &before);
		if (before.outcome == r->outcome && before.turns == r->turns &&
		    before.place.changes == r->place.changes && before.pc_after == r->pc_after)
			return 0;
		log_warn("not the same changes each time: a hit of a debug register was missed");
		if (tries == TRIES) {
			drop(r);
			return err_set(e, ERR_HOST,
				       "the debug registers of this processor have missed changes: no two of %u "
				       "searches in a row counted the same: try again",
				       tries + 2);
		}
	}
}

int trace_local_search(struct trace *t, const struct trace_local_params *p, const struct trace_local_ops *ops,
		       void *ctx, struct trace_local_result *r, struct err *e)
{
	const struct local l = {.p = p, .ops = ops};
	uint64_t start = clock_ns();
	int status = search_until_verified(t, p, ops, ctx, r, e);

	if (!status && p->nth && local_can_walk(&l))
		status = count_twice(t, p, ops, ctx, r, e);
	r->total_ns = clock_ns() - start;
	return status;
}
