/* SPDX-License-Identifier: MIT */
/* watch_ops.c: the search's operations (search/ops.h) on a replaying process and its checkpoints. */
#define LOG_DOMAIN "watch"
#include "watch/watch_int.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

static uint64_t op_clock(void *arg)
{
	(void)arg;
	return clock_ns();
}

static int op_evaluate(void *arg, enum search_value *v, struct err *e)
{
	struct watch *w = arg;
	struct expr_value val;

	if (w->here.pc && nav_at(&w->nav) == w->bad) {
		*v = w->at_bad.truth;
		return 0;
	}
	if (w->from.pc && nav_at(&w->nav) == w->good) {
		*v = w->at_good.truth;
		return 0;
	}
	if (expr_eval(&w->x, w->g, &w->nav.t, &val, e))
		return -1;
	*v = val.truth;
	if (nav_at(&w->nav) == w->good)
		w->at_good = val;
	if (val.truth == w->at_good.truth) {
		w->seen = val;
		w->seen_at = 1 + nav_at(&w->nav);
	}
	return 0;
}

static bool op_is_cancelled(void *arg)
{
	return op_cancelled(((struct watch *)arg)->ctx);
}

static int op_restart(void *arg, uint64_t at_most, uint64_t *at, struct err *e)
{
	return nav_restart(&((struct watch *)arg)->nav, at_most, at, e);
}

static int op_run_to(void *arg, uint64_t n, struct err *e)
{
	return nav_goto(&((struct watch *)arg)->nav, n, e);
}

static int op_checkpoint(void *arg, struct err *e)
{
	struct err why;
	int r = nav_checkpoint(&((struct watch *)arg)->nav, &why);

	(void)e;
	if (r < 0)
		log_warn("%s", why.text);
	return r ? 1 : 0; /* a checkpoint that cannot be made is no error */
}

static int op_drop(void *arg, uint64_t at, struct err *e)
{
	return nav_drop_checkpoint(&((struct watch *)arg)->nav, at, e);
}

static bool op_ckpt_before(void *arg, uint64_t n, uint64_t *at)
{
	return nav_ckpt_before(&((struct watch *)arg)->nav, n, at);
}

static uint64_t op_weight(void *arg, uint64_t n)
{
	struct watch *w = arg;
	struct timeline_event ev;
	struct err ignored;

	if (!n || timeline_read(w->nav.t.tl, n, &ev, &ignored))
		return 0;
	return ev.ev.stamp;
}

static void op_progress_cb(void *arg, const struct search_progress *p)
{
	struct watch *w = arg;
	char text[80];

	snprintf(text, sizeof(text), "searching, stage %s: events %llu to %llu", search_stage_name(p->stage),
		 (unsigned long long)p->left, (unsigned long long)p->right);
	op_progress(w->ctx, 0.5 + 0.5 * (double)p->evaluations / (double)(p->evaluations_max + 1), text);
}

const struct search_ops watch_event_ops = {
	.evaluate = op_evaluate,
	.restart = op_restart,
	.run_to = op_run_to,
	.checkpoint = op_checkpoint,
	.drop = op_drop,
	.ckpt_before = op_ckpt_before,
	.weight = op_weight,
	.clock_ns = op_clock,
	.progress = op_progress_cb,
	.cancelled = op_is_cancelled,
};
