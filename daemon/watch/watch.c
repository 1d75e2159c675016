/* SPDX-License-Identifier: MIT */
/* watch.c: see watch.h. */
#define LOG_DOMAIN "watch"
#include "watch/watch_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "expr/patience.h"
#include "replay/segment.h"
#include "watch/hits.h"
#include "watch/suggest.h"

/*
 * For a good end inside a segment: makes a copy of the process there. The process itself is ended; while the copy
 * lives, no other process can be started.
 */
static int copy_inside(struct watch *w, struct err *e)
{
	bool bounded = w->here.pc && w->here.event == w->from.event;
	struct segment s = {0};
	struct err why;
	uint64_t passed;
	int r;

	if (nav_goto(&w->nav, w->good, e))
		return -1;
	r = segment_begin(&s, &w->nav.t, w->from.event, e) ||
	    segment_run_counting(&s, w->from.pc, w->from.hits, bounded ? w->here.pc : w->from.pc, &passed, e);
	if (!r && bounded && passed >= w->here.hits)
		r = err_set(e, ERR_USAGE, "the good position (%s) is not before the bad one (%s)", w->params->good,
			    w->params->bad);
	if (!r && expr_needs_thread(&w->x, &w->nav.t, s.tid)) {
		r = segment_release(&s, e) || expr_eval_in_place(&w->x, w->g, &w->nav.t, &w->at_good, e) ||
				    expr_check_alive(&w->at_good, w->nav.t.pid, e)
			    ? -1
			    : 0;
		target_kill(&w->nav.t);
	} else if (!r) {
		r = segment_copy_apart(&s, &s.held, &w->good_copy, e); /* it outlives the process */
	}
	return segment_end(&s, r ? &why : e) ? -1 : r;
}

/* Replays to the bad end for the first time, and has GDB compile the expression there. */
static int prepare(struct watch *w, const struct watch_params *p, struct err *e)
{
	struct timeline_point good, bad;
	uint64_t near;
	unsigned count;
	double t0;
	int r;

	if (nav_resolve(&w->nav, p->good ? p->good : "start", &good, e) ||
	    nav_resolve(&w->nav, p->bad ? p->bad : "end", &bad, e))
		return -1;
	w->from = good;
	w->here = bad;
	bad.event += bad.pc != 0;
	if (good.event >= bad.event ||
	    (good.pc && good.pc == w->here.pc && good.event == w->here.event && good.hits >= w->here.hits))
		return err_set(e, ERR_USAGE, "the good position (%s) is not before the bad one (%s)",
			       p->good ? p->good : "start", p->bad ? p->bad : "end");
	w->good = good.event;
	w->bad = bad.event;
	w->nav.what = "replaying to the bad end";
	w->nav.span_hi = 0.5;
	t0 = clock_s();
	if (nav_goto(&w->nav, w->good, e) || (!w->from.pc && target_snap(&w->nav.t, &w->good_copy, e)))
		return -1;
	count = nav_checkpoints_wanted(&w->nav, w->good, w->bad);
	w->cuts_n = nav_cuts(&w->nav, w->good, w->here.event, count, w->cuts);
	if (nav_ckpt_after(&w->nav, w->good, &near) && near < w->bad)
		r = nav_goto(&w->nav, w->here.event, e);
	else
		r = nav_run_with_checkpoints(&w->nav, w->here.event, count, e);
	w->replay_s = clock_s() - t0;
	return r;
}

static int compile_at(struct watch *w, const char *text, pid_t pid, pid_t tid, struct err *e)
{
	if (gdb_attach(w->g, pid, e))
		return -1;
	if (expr_init(&w->x, w->g, text, tid, e)) {
		struct err ignored;

		if (!gdb_dead(w->g))
			gdb_detach(w->g, &ignored);
		return e->kind == ERR_USAGE ? WATCH_NO_SYMBOL : -1;
	}
	w->have_expr = true;
	if (w->patience)
		expr_share_patience(&w->x, w->patience);
	if (w->params->all)
		patience_take_time(w->x.patience);
	exit_call_find(w->g, tid, &w->exit);
	return gdb_detach(w->g, e);
}

/*
 * For a bad end inside a segment. The process is stopped there with all its threads, whose variables the expression may
 * use; calls are made in a copy. Afterwards the process is ended.
 */
static int compile_inside(struct watch *w, const char *text, struct segment *s, struct err *e)
{
	struct target *t = &w->nav.t;
	pid_t copy;
	int r;

	if (segment_begin(s, t, w->here.event, e) || segment_run_to(s, w->here.pc, w->here.hits, e) ||
	    segment_copy(s, &s->held, &copy, e))
		return -1;
	r = segment_release(s, e) ? -1 : compile_at(w, text, t->pid, s->tid, e);
	if (!r && w->x.compiled)
		expr_eval_memory(&w->x, t->pid, &w->at_bad);
	else if (!r && expr_needs_thread(&w->x, t, s->tid))
		r = expr_eval_in_place(&w->x, w->g, t, &w->at_bad, e);
	else if (!r)
		r = expr_eval_copy(&w->x, w->g, copy, 0, &w->at_bad, e);
	if (!r && (expr_check_alive(&w->at_bad, t->pid, e) || expr_check_alive(&w->at_bad, copy, e)))
		r = -1;
	target_snap_kill(copy);
	target_kill(t);
	return r;
}

/* Compiles the expression in the state at the bad end, and evaluates it there. */
static int compile(struct watch *w, const char *text, struct err *e)
{
	struct segment s = {0};
	struct err why;
	int r;

	if (w->here.pc) {
		r = nav_goto(&w->nav, w->here.event, e) ? -1 : compile_inside(w, text, &s, e);
		if (segment_end(&s, r ? &why : e))
			r = -1;
	} else {
		r = compile_at(w, text, w->nav.t.pid, target_tid(&w->nav.t, w->nav.t.ctl->parked), e);
		if (!r)
			r = expr_eval(&w->x, w->g, &w->nav.t, &w->at_bad, e);
	}
	if (r)
		return r;
	if (!w->x.unsure || !w->at_bad.invalid)
		return 0;
	err_set(e, ERR_USAGE, "%s", w->at_bad.text);
	return WATCH_NO_SYMBOL;
}

/*
 * If both ends are true, or both false, but have different values, then a value is bad when it is the one at the bad
 * end.
 */
static int choose_predicate(struct watch *w, struct err *e)
{
	struct expr_value good;

	if (!w->x.compiled || !w->at_bad.known)
		return 0;
	expr_eval_memory(&w->x, w->good_copy, &good);
	if (expr_check_alive(&good, w->good_copy, e))
		return -1;
	if (good.known && good.truth == w->at_bad.truth && good.value != w->at_bad.value) {
		w->x.by_value = true;
		w->x.unequal_to = w->at_bad.value;
		w->at_bad.truth = SEARCH_FALSE;
	}
	return 0;
}

/* Advice for the error: a position to search from, at which the expression differs from the ends. */
static char *advice(const struct watch *w, const struct watch_params *p, const struct suggestion *s, bool ends_true,
		    const char *how)
{
	uint64_t at = ends_true ? s->first : s->last;
	cleanup_free char *command = NULL, *value = expr_value_text(ends_true ? &s->at_first : &s->at_last);

	if (!s->found)
		return str_fmt("%s (--good POS names a position where it is still good, --bad POS one where it is not)",
			       how);
	command = !p->asked ? str_fmt("reverse-watch --%s %llu %s", ends_true ? "bad" : "good", (unsigned long long)at,
				      p->expr)
			    : suggest_command(p->asked, w->nav.t.rec, w->nav.t.process, ends_true ? "bad" : "good", at);
	return str_fmt("; but %s at event %llu. Try: %s", value, (unsigned long long)at, command);
}

static char *point_text(const struct timeline_point *p)
{
	return p->pc ? str_fmt("%llu/0x%llx#%llu", (unsigned long long)p->event, (unsigned long long)p->pc,
			       (unsigned long long)p->hits)
		     : str_fmt("%llu", (unsigned long long)p->event);
}

/* For the error: how far was searched. */
static char *what_was_looked_at(const struct watch_looked *l, const struct suggestion *s, bool insn)
{
	const char *unit = insn ? "instruction" : "statement";

	if (l->watched && l->all)
		return str_fmt(", and also after each %s in between that changes what it reads", unit);
	if (l->watched && l->by_events)
		return str_fmt(", and also at the events up to %llu; between events it was evaluated in some places "
			       "only, since what it reads could not be watched: --last evaluates it in more",
			       (unsigned long long)l->at);
	if (l->watched)
		return str_fmt(", and also, up to event %llu, after each %s that changes what it reads; as this took a "
			       "second, the search stopped there: --last continues it",
			       (unsigned long long)l->at, unit);
	return xstrdup(s->looked ? ", and also at all positions in between at which it was evaluated" : "");
}

/*
 * The expression counts the same at both ends. WATCH_FOUND: it is good in between, and stage D has found the
 * transition.
 */
static int equal_ends(struct watch *w, const struct watch_params *p, struct search_result *r, struct err *e)
{
	enum search_value on_error = p->on_error == SEARCH_ON_ERROR_BAD ? SEARCH_FALSE : SEARCH_TRUE;
	enum search_value end = w->at_bad.truth == SEARCH_ERROR ? on_error : w->at_bad.truth;
	cleanup_free char *text = NULL, *left = point_text(&w->from), *right = point_text(&w->here), *how = NULL;
	cleanup_free char *at_good = expr_value_text(&w->at_good), *at_bad = expr_value_text(&w->at_bad);
	struct watch_looked looked = {0};
	struct suggestion s = {.looked = w->valueless};
	struct err why;
	int inside = 0;

	if (w->at_good.invalid && w->at_bad.invalid) {
		err_set(e, ERR_USAGE, "%s", w->at_bad.text);
		return WATCH_NO_SYMBOL;
	}
	if (p->suggest && !s.looked && suggest_look(&w->nav, w->g, &w->x, w->good, w->bad, end, on_error, &s, &why))
		log_warn("no suggestion: %s", why.text);
	if (!s.found && p->inside && r->left_value == SEARCH_FALSE && r->right_value == SEARCH_FALSE)
		inside = watch_inside(w, p->on_error, &r->stage[SEARCH_D], &looked, e);
	if (inside)
		return inside < 0 ? -1 : WATCH_FOUND;
	how = what_was_looked_at(&looked, &s, p->insn);
	text = advice(w, p, &s, end == SEARCH_TRUE, how);
	err_set(e, ERR_NOT_FOUND, "%s: the expression is the same at both ends: %s at event %s, %s at event %s%s%s",
		w->x.given, at_good, left, at_bad, right,
		w->good && w->good == nav_first(&w->nav)
			? "; what was before the first of them was removed, since the recording was bounded (--max-log)"
			: "",
		text);
	return WATCH_EQUAL;
}

/*
 * The expression has no value at either end: the search begins at the last position found at which it has one. 1: there
 * is none.
 */
static int find_value(struct watch *w, struct err *e)
{
	struct suggestion s = {0};

	if (suggest_look(&w->nav, w->g, &w->x, w->good, w->bad, SEARCH_ERROR, SEARCH_ERROR, &s, e))
		return -1;
	w->valueless = s.found ? 0 : s.looked;
	if (s.found) {
		w->good = s.last;
		w->from = (struct timeline_point){.event = s.last};
	}
	return !s.found;
}

static int bisect(struct watch *w, const struct watch_params *p, struct search_result *r, struct err *e)
{
	struct search_params sp = {
		.left = w->good,
		.right = w->bad,
		.on_error = p->on_error,
		.slack = 2,
		.cuts = w->cuts,
		.cuts_n = w->cuts_n,
		.checkpoint_cost_ns = 25000000,
	};

	struct search_ops ops = watch_event_ops;

	ops.local = watch_local;
	return search_run(&ops, w, &sp, r, e);
}

static void log_stages(const struct watch *w, const struct search_costs *stages)
{
	for (int i = 0; i < SEARCH_STAGES; i++)
		if (stages[i].states)
			log_info("%s: stage %s: %llu evaluations of %llu states", w->x.given,
				 search_stage_name((enum search_stage)i), (unsigned long long)stages[i].evaluations,
				 (unsigned long long)stages[i].states);
}

static int search(struct watch *w, const struct watch_params *p, double t0, struct watch_result *result, struct err *e)
{
	struct search_result r;
	bool inside = false;

	if (w->from.pc && copy_inside(w, e))
		return -1;
	if (choose_predicate(w, e))
		return -1;
	if (w->from.pc && w->x.compiled)
		expr_eval_memory(&w->x, w->good_copy, &w->at_good);
	else if (w->from.pc && w->good_copy && expr_eval_copy(&w->x, w->g, w->good_copy, 0, &w->at_good, e))
		return -1;
	if (w->from.pc && w->good_copy && expr_check_alive(&w->at_good, w->good_copy, e))
		return -1;
	target_snap_kill(w->good_copy);
	w->good_copy = 0;
	if (bisect(w, p, &r, e))
		return -1;
	if (r.outcome == SEARCH_EQUAL && r.left_value == SEARCH_ERROR && p->on_error == SEARCH_ON_ERROR_NEITHER) {
		int none = find_value(w, e);

		if (none < 0 || (!none && bisect(w, p, &r, e)))
			return -1;
	}
	if (r.outcome == SEARCH_EQUAL && p->anywhere && r.left_value == SEARCH_TRUE && watch_anywhere(w, e))
		return -1;
	if (r.outcome == SEARCH_EQUAL && w->false_at)
		return WATCH_EQUAL;
	if (r.outcome == SEARCH_EQUAL) {
		int equal = equal_ends(w, p, &r, e);

		if (equal != WATCH_FOUND)
			return equal;
		inside = true;
	}
	if (watch_describe(w, result, e))
		return -1;
	if (w->within)
		strv_add(&result->notes, "before this statement it is bad, too: it is good only inside the statement, "
					 "and the search went no further back; --last continues it");
	if (inside)
		strv_add(&result->notes, "the expression is bad at both ends, and good only in between");
	result->stats = (struct watch_stats){
		.total_s = clock_s() - t0,
		.record_s = w->nav.t.rec->wall_s,
		.replay_s = w->replay_s,
		.later_evaluations = w->later_evaluations,
		.later_s = (double)w->later_ns / 1e9,
	};
	memcpy(result->stats.stage, r.stage, sizeof(r.stage));
	log_stages(w, r.stage);
	return WATCH_FOUND;
}

/*
 * Counts how often the thread has come to the transition's PC, if that is cheap to find out or the user wants it. The
 * processes of the search have ended.
 */
static void count_hits(struct watch *w, bool wanted, struct watch_result *result)
{
	struct timeline_point *at = &result->at;
	struct err why;
	int r = at->pc ? hits_count(&w->nav, at->event, at->pc, &w->d, &w->x, wanted, &at->hits, &why) : 0;

	if (r < 0)
		log_warn("no hits: %s", why.text);
	if (r <= 0)
		at->hits = 0;
}

static int watch_once(struct watch *w, const struct rec *rec, uint32_t process, const struct watch_params *p,
		      struct watch_result *result, struct err *e)
{
	double t0 = clock_s();
	struct err ignored;
	int r;

	if (nav_init(&w->nav, rec, process, 0, w->ctx, e))
		return -1;
	if (!p->insn)
		w->statements = statements_new();
	r = prepare(w, p, e);
	if (!r)
		r = compile(w, p->expr, e);
	if (!r)
		r = search(w, p, t0, result, e);
	if (gdb_target(w->g) && !gdb_dead(w->g))
		gdb_detach(w->g, &ignored);
	watch_drop_held(w);
	target_snap_kill(w->good_copy);
	if (r == WATCH_FOUND)
		count_hits(w, p->exact, result);
	else
		watch_result_fini(result);
	watch_find_exit(w, r, result);
	nav_fini(&w->nav);
	statements_free(w->statements);
	w->statements = NULL;
	return r;
}

/*
 * The expression had no value before the transition: its frame was entered, or a pointer was set. The objects that the
 * frame's pointers point to at the bad end may be older. If the expression, evaluated on these objects, changed from
 * one value to another, that change is the result.
 */
static void look_at_object(const struct watch *w, const struct rec *rec, uint32_t process, const struct watch_params *p,
			   struct watch_result *result)
{
	struct watch_params of_object = *p;
	struct watch object = {.g = w->g, .ctx = w->ctx, .params = &of_object, .patience = w->x.patience};
	struct watch_result found = {0};
	struct err why;

	of_object.expr = w->x.object;
	of_object.suggest = false;
	if (watch_once(&object, rec, process, &of_object, &found, &why) == WATCH_FOUND && found.had_value) {
		str_set(&found.expr, "%s", w->x.given);
		strv_take(&found.notes, str_fmt("the variables have no values before their function has set them: this "
						"is the change of the object to which they point at the bad end, %s",
						w->x.object));
		watch_result_fini(result);
		*result = found;
	} else {
		watch_result_fini(&found);
	}
	if (object.have_expr)
		expr_fini(&object.x);
}

/* The same search up to the call of exit. 1: no value changes there. */
static int look_before_exit(const struct watch *w, const struct rec *rec, uint32_t process,
			    const struct watch_params *p, struct watch_result *result)
{
	cleanup_free char *bad = point_text(&w->exit_at);
	struct watch_params before = *p;
	struct watch again = {.g = w->g, .ctx = w->ctx, .params = &before, .patience = w->x.patience};
	struct watch_result found = {0};
	struct err why;
	int r;

	before.bad = bad;
	before.suggest = false;
	r = watch_once(&again, rec, process, &before, &found, &why);
	if (r == WATCH_FOUND && found.had_value) {
		strv_add(&found.notes, "this is before the program called exit, which runs its destructors");
		watch_result_fini(result);
		*result = found;
	} else {
		watch_result_fini(&found);
		r = WATCH_EQUAL;
	}
	if (again.have_expr)
		expr_fini(&again.x);
	return r;
}

/* The same search with the event false_at as the bad end. */
static int look_before(const struct watch *w, const struct rec *rec, uint32_t process, const struct watch_params *p,
		       struct watch_result *result, struct err *e)
{
	cleanup_free char *bad = str_fmt("%llu", (unsigned long long)w->false_at);
	struct watch_params before = *p;
	struct watch again = {.g = w->g, .ctx = w->ctx, .params = &before, .patience = w->x.patience};
	int r;

	before.bad = bad;
	before.anywhere = false;
	r = watch_once(&again, rec, process, &before, result, e);
	if (again.have_expr)
		expr_fini(&again.x);
	return r;
}

int watch_process(const struct rec *rec, uint32_t process, const struct watch_params *p, struct gdb *g,
		  struct op_ctx *ctx, struct watch_result *result, struct err *e)
{
	struct watch w = {.g = g, .ctx = ctx, .params = p};
	int r;

	*result = (struct watch_result){0};
	r = watch_once(&w, rec, process, p, result, e);

	if (w.exit_at.pc && !look_before_exit(&w, rec, process, p, result))
		r = WATCH_FOUND;
	else if (r == WATCH_EQUAL && w.false_at)
		r = look_before(&w, rec, process, p, result, e);
	else if (r == WATCH_FOUND && !result->had_value && p->on_error == SEARCH_ON_ERROR_NEITHER) {
		strv_add(&result->notes, "the expression has no value before this statement");
		if (w.x.object)
			look_at_object(&w, rec, process, p, result);
	}
	if (w.have_expr)
		expr_fini(&w.x);
	return r;
}
