/* SPDX-License-Identifier: MIT */
/*
 * watch_exit.c: the bad end is after the program's destructors and handlers of atexit, which have freed or cleared what
 * the expression reads: is there perhaps a transition before them? One evaluation at the call of exit tells whether it
 * is worth a search up to there.
 */
#define LOG_DOMAIN "watch"
#include "base/log.h"
#include "replay/segment.h"
#include "watch/watch_int.h"

/* Did the search find nothing, or only that the object had gone? */
static bool is_lost(const struct watch *w, int r, const struct watch_result *result)
{
	if (r == WATCH_FOUND)
		return w->at_bad.truth == SEARCH_ERROR || !result->had_value || result->freed;
	return r >= 0 && !w->false_at;
}

/* Evaluates in the thread that calls exit, which is held. */
static int evaluate(struct watch *w, struct segment *s, struct expr_value *v, struct err *e)
{
	pid_t copy = 0;
	int r = 0;

	if (w->x.compiled)
		expr_eval_memory(&w->x, w->nav.t.pid, v);
	else if (!expr_is_still(&w->x) || expr_eval_still(&w->x, w->nav.t.pid, v))
		r = segment_copy(s, &s->held, &copy, e) || expr_eval_copy(&w->x, w->g, copy, 0, v, e) ? -1 : 0;
	if (!r)
		r = expr_check_alive(v, copy ? copy : w->nav.t.pid, e);
	target_snap_kill(copy);
	return r;
}

static int evaluate_at_call(struct watch *w, struct expr_value *v, struct err *e)
{
	struct segment s = {0};
	struct err why;
	int r = nav_goto(&w->nav, w->exit_at.event, e);

	if (!r)
		r = segment_begin(&s, &w->nav.t, w->exit_at.event, e) ||
				    segment_run_to(&s, w->exit_at.pc, w->exit_at.hits, e) || evaluate(w, &s, v, e)
			    ? -1
			    : 0;
	return segment_end(&s, r ? &why : e) ? -1 : r;
}

static enum search_value truth_of(const struct watch *w, const struct expr_value *v)
{
	if (v->truth != SEARCH_ERROR || w->params->on_error == SEARCH_ON_ERROR_NEITHER)
		return v->truth;
	return w->params->on_error == SEARCH_ON_ERROR_BAD ? SEARCH_FALSE : SEARCH_TRUE;
}

/* If v were the value at the bad end: could there be a transition that the search up to the end has not found? */
static bool may_turn(const struct watch *w, const struct expr_value *v)
{
	enum search_value good = truth_of(w, &w->at_good);

	if (w->at_good.known && v->known ? v->value != w->at_good.value : truth_of(w, v) != good)
		return true;
	/* good in between */
	return (w->params->anywhere && good == SEARCH_TRUE) || (good == SEARCH_FALSE && w->at_bad.truth != good);
}

static int find(struct watch *w, struct err *e)
{
	struct expr_value v = {0};
	int r = exit_call_begin(&w->exit, &w->nav, w->good, w->here.event + (w->here.pc != 0), &w->exit_at, e);

	if (r)
		return r;
	if (w->from.pc && w->from.event == w->exit_at.event)
		return 1;
	if (expr_needs_thread(&w->x, &w->nav.t, target_tid(&w->nav.t, w->nav.t.ctl->parked)))
		return 0;
	return evaluate_at_call(w, &v, e) ? -1 : !may_turn(w, &v);
}

void watch_find_exit(struct watch *w, int r, const struct watch_result *result)
{
	struct err why;
	int none = 1;

	if (w->have_expr && w->exit.frame.any && w->here.pc != w->exit.pc && is_lost(w, r, result))
		none = find(w, &why);
	if (none < 0)
		log_warn("where exit was called: %s", why.text);
	if (none)
		w->exit_at = (struct timeline_point){0};
}
