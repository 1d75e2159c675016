/* SPDX-License-Identifier: MIT */
/*
 * watch_last.c: which of several transitions: the last one, from which on the expression stays bad. The bisection finds
 * one; the changes after it are followed (follow.h), for a second by default.
 */
#define LOG_DOMAIN "watch"
#include "watch/watch_int.h"

#include "base/clock.h"
#include "base/log.h"
#include "replay/segment.h"
#include "watch/follow.h"
#include "watch/hits.h"

#include <string.h>

#define LATER_NS 1000000000u /* for following the changes after what was found */
/* How many statements in which the expression was good only inside are passed over at most, and for how long. */
#define WITHIN_STATEMENTS 40
#define WITHIN_NS 60000000000ull
#define SEGMENTS 16 /* segments that are examined, the longest ones, when changes cannot be followed */
/* instead of these times, if the user asked for the last transition of all */
#define WHOLE_NS (3600ull * 1000000000u)

/* Runs stage D in the segment after event n, up to the bad end if that is in this segment. */
static int turn_in(struct watch *w, uint64_t n, struct err *e)
{
	bool bounded = w->here.pc && n == w->here.event;

	w->d = (struct segment_search){
		.op = w->ctx,
		.nth = w->in_segment,
		.lasting_ns = w->params->all ? WHOLE_NS : w->params->later_ns,
		.begin_pc = n == w->from.event ? w->from.pc : 0,
		.begin_hits = n == w->from.event ? w->from.hits : 0,
		.end_pc = bounded ? w->here.pc : 0,
		.end_hits = bounded ? w->here.hits : 0,
		.statements = w->statements,
		.at_begin = w->seen_at == n + 1 ? &w->seen : NULL,
	};
	w->have_d = true;
	w->turn = n;
	return nav_goto(&w->nav, n, e) || segment_search_run(&w->nav.t, w->g, &w->x, n, &w->pred, &w->d, e) ? -1 : 0;
}

void watch_drop_held(struct watch *w)
{
	struct err ignored;

	if (!w->have_d)
		return;
	if (w->d.r.t.alive) {
		trace_kill(&w->d.r.t);
		if (!w->d.r.is_copy)
			w->nav.t.pid = 0;
		segment_end_tracing(&ignored);
	} else if (w->d.r.is_copy) {
		target_snap_kill(w->d.r.t.pid);
	}
	target_kill(&w->nav.t);
	w->have_d = false;
}

/* Bisects the events between two positions; on_error: see search.h. 1: both ends count the same. */
static int bisect_events(struct watch *w, uint64_t left, uint64_t right, enum search_on_error on_error, uint64_t *turn,
			 struct err *e)
{
	struct search_params p = {
		.left = left, .right = right, .on_error = on_error, .slack = 2, .cuts = w->cuts, .cuts_n = w->cuts_n};
	struct search_result r;

	if (left + 1 >= right) {
		*turn = left;
		return 0;
	}
	if (search_run(&watch_event_ops, w, &p, &r, e))
		return -1;
	w->later_evaluations += search_total(r.stage).evaluations;
	*turn = r.left;
	return r.outcome == SEARCH_EQUAL;
}

static uint64_t last_whole_event(const struct watch *w)
{
	return w->here.pc ? w->here.event : w->bad;
}

static struct follow follow_up_to(struct watch *w, uint64_t until)
{
	return (struct follow){
		.nav = &w->nav,
		.x = &w->x,
		.g = w->g,
		.pred = &w->pred,
		.until = until,
		.statements = w->statements,
		.budget_ns = w->params->all || w->params->nth ? WHOLE_NS
			     : w->params->later_ns	      ? w->params->later_ns
							      : LATER_NS,
	};
}

static int run_follow(struct watch *w, const struct follow *f, uint64_t from, struct follow_result *r, struct err *e)
{
	if (nav_goto(&w->nav, from, e) || follow_run(f, r, e))
		return -1;
	w->later_evaluations += r->evaluations;
	w->later_ns += r->total_ns;
	return 0;
}

/* Follows the changes from `from` to `to`: *turn becomes the last transition in between, *last the value at `to`. */
static int follow_to(struct watch *w, uint64_t from, uint64_t to, uint64_t *turn, enum pred_side *last, struct err *e)
{
	struct follow f = follow_up_to(w, to);
	struct follow_result r;

	if (run_follow(w, &f, from, &r, e))
		return -1;
	w->sure &= r.exact;
	w->at_events &= r.reached;
	if (r.turned)
		*turn = r.turn;
	*last = r.last;
	if (!r.reached && r.last == PRED_GOOD) {
		int b = bisect_events(w, r.at, w->bad, w->pred.on_error, turn, e);

		if (b < 0)
			return -1;
		*last = PRED_BAD;
	}
	return 0;
}

/*
 * The expression has no value just before the transition, but was good earlier. If it changed from a value to another
 * value in between, that change becomes the transition.
 */
static int from_value_to_value(struct watch *w, uint64_t *turn, struct err *e)
{
	struct expr_value v;
	enum pred_side last;
	uint64_t at;

	if (w->pred.left == SEARCH_ERROR || *turn <= w->good)
		return 0;
	if (nav_goto(&w->nav, *turn, e) || expr_eval(&w->x, w->g, &w->nav.t, &v, e))
		return -1;
	if (pred_side(&w->pred, v.truth) != PRED_NONE)
		return 0;
	if (bisect_events(w, w->good, *turn, SEARCH_ON_ERROR_BAD, &at, e) < 0)
		return -1;
	if (nav_goto(&w->nav, at + 1, e) || expr_eval(&w->x, w->g, &w->nav.t, &v, e))
		return -1;
	if (pred_side(&w->pred, v.truth) != PRED_BAD)
		return 0;
	if (follow_to(w, at + 1, *turn, &at, &last, e))
		return -1;
	*turn = at;
	return 0;
}

/* Is there a transition in the segment after event n? 1: stage D has it. */
static int turns_in(struct watch *w, uint64_t n, struct err *e)
{
	if (turn_in(w, n, e))
		return -1;
	if (w->d.r.outcome == TRACE_LOCAL_FOUND)
		return 1;
	watch_drop_held(w);
	return 0;
}

static int last_turn(struct watch *w, uint64_t *turn, struct err *e)
{
	uint64_t end = last_whole_event(w);
	enum pred_side last = PRED_BAD;

	w->sure = w->at_events = true;
	if (*turn + 1 <= end && follow_to(w, *turn + 1, end, turn, &last, e))
		return -1;
	if (w->here.pc && *turn < w->here.event && last == PRED_GOOD)
		*turn = w->here.event;
	if (w->here.pc && *turn < w->here.event) {
		int r = turns_in(w, w->here.event, e);

		if (r)
			return r;
	}
	return from_value_to_value(w, turn, e);
}

/*
 * The error for --nth N with too few transitions. missing: how many were not found, not counting those in the bad end's
 * segment if that end is inside one.
 */
static int too_few(struct watch *w, uint64_t missing, struct err *e)
{
	uint64_t found = w->params->nth - missing + (w->have_d && w->turn == w->here.event ? w->d.r.turns : 0);

	watch_drop_held(w);
	return err_set(e, ERR_NOT_FOUND, "%s: there are only %llu transitions between %s and %s", w->x.given,
		       (unsigned long long)found, w->params->good ? w->params->good : "start",
		       w->params->bad ? w->params->bad : "end");
}

/* The nth transition after the good end; 1: stage D has it already. ERR_NOT_FOUND: there are fewer. */
static int nth_turn(struct watch *w, uint64_t *turn, struct err *e)
{
	struct follow f = follow_up_to(w, last_whole_event(w));
	struct follow_result r;

	f.nth = w->params->nth;
	if (w->from.pc) { /* first the rest of the good end's segment */
		w->in_segment = f.nth;
		if (turn_in(w, w->good, e))
			return -1;
		if (w->d.r.outcome == TRACE_LOCAL_FOUND) {
			w->sure = true;
			return 1;
		}
		f.nth -= w->d.r.turns;
		watch_drop_held(w);
	}
	if (run_follow(w, &f, w->good + (w->from.pc != 0), &r, e))
		return -1;
	w->sure = r.turns == f.nth;
	if (!w->sure && w->here.pc && w->here.event != w->from.event) {
		*turn = w->here.event;
		w->in_segment = f.nth - r.turns;
		return turn_in(w, *turn, e)		     ? -1
		       : w->d.r.outcome == TRACE_LOCAL_FOUND ? 1
							     : too_few(w, f.nth - r.turns, e);
	}
	if (!w->sure)
		return too_few(w, f.nth - r.turns, e);
	*turn = r.turn;
	w->in_segment = r.in_segment;
	return 0;
}

int watch_anywhere(struct watch *w, struct err *e)
{
	const struct pred pred = {.on_error = SEARCH_ON_ERROR_NEITHER, .left = SEARCH_TRUE, .right = SEARCH_FALSE};
	struct follow f = follow_up_to(w, last_whole_event(w));
	struct follow_result r;

	f.pred = &pred;
	f.at_events = true;
	f.nth = 1;
	f.statements = NULL;
	f.budget_ns = WHOLE_NS;
	if (run_follow(w, &f, w->good, &r, e))
		return -1;
	w->false_at = r.turned ? r.turn + 1 : 0;
	if (!r.turned && !r.reached)
		return err_set(e, ERR_INTERNAL,
			       "%s: it is true up to event %llu of %llu; it could not be followed further", w->x.given,
			       (unsigned long long)r.at, (unsigned long long)w->bad);
	return 0;
}

static void add_costs(const struct trace_local_result *r, struct search_costs *c)
{
	c->evaluations += r->evaluations - r->later_evaluations;
	c->states = r->branches * (r->gaps ? r->gaps : 1) * (r->instructions ? r->instructions : 1);
	c->evaluate_ns += r->evaluate_ns;
	c->checkpoints += r->forks;
	c->checkpoint_ns += r->fork_ns;
	c->run_ns += r->run_ns;
}

static bool is_found(const struct watch *w)
{
	return w->d.r.outcome == TRACE_LOCAL_FOUND || w->d.r.outcome == TRACE_LOCAL_AT_END;
}

/*
 * Following saw the change in a segment in which it was not made, since two threads were moving. Bisecting the events
 * tells which segment it is.
 */
static int turn_nearby(struct watch *w, uint64_t n, struct err *e)
{
	bool later = w->d.r.outcome == TRACE_LOCAL_GOOD;
	uint64_t turn;
	int r;

	log_info("event %llu: the expression does not turn there", (unsigned long long)n);
	watch_drop_held(w);
	w->sure = w->at_events = false;
	w->in_segment = 0;
	r = later ? bisect_events(w, n + 1, w->bad, w->pred.on_error, &turn, e)
		  : bisect_events(w, w->good, n, w->pred.on_error, &turn, e);
	return r ? (r < 0 ? -1 : 0) : turn_in(w, turn, e);
}

/*
 * The transition that was found lies inside a statement that began with a bad state. The wanted one is earlier: that
 * statement's beginning becomes the bad end. 1: this was done, and the search has to be made again after event *turn.
 */
static int within_statement(struct watch *w, bool may_go_back, uint64_t *turn, struct err *e)
{
	const struct trace_local_statement *s = &w->d.r.statement;
	struct timeline_point here = {.event = w->turn};
	int r;

	if (w->params->nth || w->d.r.outcome != TRACE_LOCAL_FOUND || !s->known ||
	    (!s->at_begin && s->side != TRACE_BAD))
		return 0;
	if (s->at_begin && (!w->d.r.begins_bad || w->turn <= w->good))
		return 0;
	if (!may_go_back) {
		w->within = true;
		w->sure = w->at_events = false;
		return 0;
	}
	if (!s->at_begin) {
		here.pc = s->pc;
		here.hits = s->hits;
	}
	log_info("event %llu: turned inside of a statement, which begins bad at 0x%llx#%llu",
		 (unsigned long long)w->turn, (unsigned long long)here.pc, (unsigned long long)here.hits);
	watch_drop_held(w);
	w->later_evaluations += w->d.r.evaluations;
	if (here.pc && hits_of_segment(&w->nav, here.event, &w->d, here.pc, &here.hits, e))
		return -1;
	if (here.event == w->here.event && here.pc == w->here.pc && here.hits >= w->here.hits)
		return err_set(e, ERR_INTERNAL, "event %llu: the number of passes of 0x%llx differs from run to run",
			       (unsigned long long)here.event, (unsigned long long)here.pc);
	w->here = here;
	w->bad = here.event + (here.pc != 0);
	w->again = w->inside;
	if (w->inside) /* both ends are bad: watch_inside follows the changes again */
		return 0;
	r = bisect_events(w, w->good, w->bad, w->pred.on_error, turn, e);
	if (r > 0)
		err_set(e, ERR_INTERNAL, "event %llu: the expression is not bad there when it is evaluated again",
			(unsigned long long)w->bad);
	return r ? -1 : 1;
}

static int find_turn(struct watch *w, uint64_t n, struct err *e)
{
	int r = w->params->nth ? nth_turn(w, &n, e) : last_turn(w, &n, e);

	if (!r)
		r = turn_in(w, n, e);
	return r < 0 || (!is_found(w) && turn_nearby(w, n, e)) ? -1 : 0;
}

int watch_local(void *arg, uint64_t n, const struct pred *pred, struct search_costs *costs, struct err *e)
{
	struct watch *w = arg;
	uint64_t until = clock_ns() + (w->params->all ? WHOLE_NS : WITHIN_NS);
	unsigned statements = 0;
	int r;

	w->pred = *pred;
	w->within = w->again = w->at_events = false;
	do {
		if (find_turn(w, n, e))
			return -1;
		r = within_statement(w, clock_ns() < until && (w->params->all || statements++ < WITHIN_STATEMENTS), &n,
				     e);
	} while (r == 1);
	if (r < 0 || w->again)
		return r < 0 ? -1 : 0;
	if (!w->params->nth)
		w->sure &= w->d.r.lasts || w->d.r.outcome == TRACE_LOCAL_AT_END;
	w->later_evaluations += w->d.r.later_evaluations;
	add_costs(&w->d.r, costs);
	return 0;
}

/* A segment and how long it took when it was recorded. */
struct span {
	uint64_t n;
	double seconds;
};

/* Of the segments after the events `from` to `to` - 1, the longest ones; the last of them is the last one in time. */
static size_t longest(struct watch *w, uint64_t from, uint64_t to, struct span *span, struct err *e)
{
	struct timeline_walk walk;
	struct timeline_event ev;
	double since = -1;
	size_t k = 0;

	if (timeline_walk_init(&walk, w->nav.t.tl, from ? from : 1, e))
		return 0;
	while (walk.number <= to && timeline_walk_next(&walk, &ev, e) == 1) {
		uint64_t n = walk.number - 2;
		struct span s = {n, since < 0 ? 0 : ev.seconds - since};
		size_t least = 0;

		since = ev.seconds;
		if (n < from)
			continue;
		for (size_t i = 1; i < k; i++)
			least = span[i].seconds < span[least].seconds ? i : least;
		if (k == SEGMENTS && span[least].seconds >= s.seconds)
			continue;
		if (k == SEGMENTS)
			memmove(&span[least], &span[least + 1], (--k - least) * sizeof(*span));
		span[k++] = s;
	}
	timeline_walk_fini(&walk);
	return k;
}

/*
 * The words that the expression reads could not be watched, and it is bad at each event. Is it good inside a segment,
 * at one of the states that stage D examines? With --last all segments are searched, else some of them, from the last
 * one back. Returns as turns_in.
 */
static int in_some_segment(struct watch *w, uint64_t from, uint64_t to, uint64_t *n, struct err *e)
{
	struct span span[SEGMENTS];
	struct err why;
	size_t k = w->params->all ? to - from : longest(w, from, to, span, &why);
	int r = 0;

	while (!r && k--) {
		*n = w->params->all ? from + k : span[k].n;
		r = turns_in(w, *n, e);
	}
	return r;
}

static int look_inside(struct watch *w, const struct pred *pred, struct search_costs *costs,
		       struct watch_looked *looked, struct err *e)
{
	struct follow f = follow_up_to(w, last_whole_event(w));
	uint64_t from = w->good + (w->from.pc != 0), n = 0;
	struct follow_result r = {.reached = true, .exact = true};
	int found = 0;

	f.pred = pred;
	*looked = (struct watch_looked){0};
	if (from <= f.until && run_follow(w, &f, from, &r, e))
		return -1;
	*looked = (struct watch_looked){true, r.reached && r.exact, r.by_events, r.at};
	if (r.turned) {
		n = r.turn;
		found = 1;
	} else if (r.by_events && from < r.at) {
		found = in_some_segment(w, from, r.at, &n, e);
	}
	if (!found && w->from.pc) {
		n = w->good;
		found = turns_in(w, n, e);
	}
	if (!found && w->here.pc && w->here.event != w->from.event) {
		n = w->here.event;
		found = turns_in(w, n, e);
	}
	watch_drop_held(w);
	if (found > 0 && watch_local(w, n, pred, costs, e))
		return -1;
	if (found > 0 && !w->again && !is_found(w)) {
		watch_drop_held(w);
		found = 0;
	}
	return found;
}

int watch_inside(struct watch *w, enum search_on_error on_error, struct search_costs *costs,
		 struct watch_looked *looked, struct err *e)
{
	struct pred pred = {.on_error = on_error, .left = SEARCH_TRUE, .right = SEARCH_FALSE};
	int r;

	*looked = (struct watch_looked){0};
	w->pred = pred;
	w->inside = true;
	if (!expr_is_still(&w->x))
		return 0;
	do {
		w->again = false;
		r = look_inside(w, &pred, costs, looked, e);
	} while (r == 1 && w->again && !op_cancelled(w->ctx));
	return r == 1 && w->again ? err_set(e, ERR_CANCELLED, "cancelled") : r;
}
