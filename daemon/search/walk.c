/* SPDX-License-Identifier: MIT */
/* walk.c: see walk.h. */
#include "search/walk.h"

uint64_t walk_clock(const struct walk *w)
{
	return w->ops->clock_ns ? w->ops->clock_ns(w->ctx) : 0;
}

struct search_costs *walk_costs(struct walk *w)
{
	return &w->result->stage[w->stage];
}

int walk_check(struct walk *w, struct err *e)
{
	struct search_progress p = {
		.stage = w->stage,
		.left = w->b.left,
		.right = w->b.right,
		.evaluations = search_total(w->result).evaluations,
		.evaluations_max = w->evaluations_max,
	};

	if (w->ops->cancelled && w->ops->cancelled(w->ctx))
		return err_set(e, ERR_CANCELLED, "the search was cancelled");
	if (w->ops->progress)
		w->ops->progress(w->ctx, &p);
	return 0;
}

static int restart_before(struct walk *w, uint64_t n, struct err *e)
{
	struct search_costs *c = walk_costs(w);
	uint64_t t = walk_clock(w), at = 0;

	if (walk_check(w, e))
		return -1;
	w->alive = false;
	if (w->ops->restart(w->ctx, n, &at, e))
		return err_wrap(e, "restart before event %llu", (unsigned long long)n);
	if (at > n)
		return err_set(e, ERR_INTERNAL, "restart before event %llu stands at %llu",
			       (unsigned long long)n, (unsigned long long)at);
	c->restarts++;
	c->restart_ns += walk_clock(w) - t;
	w->alive = true;
	w->at = at;
	w->since_ckpt_ns = 0;
	return 0;
}

static int run_to(struct walk *w, uint64_t n, struct err *e)
{
	uint64_t t = walk_clock(w);

	if (walk_check(w, e))
		return -1;
	w->alive = false;
	if (w->ops->run_to(w->ctx, n, e))
		return err_wrap(e, "run to event %llu", (unsigned long long)n);
	t = walk_clock(w) - t;
	walk_costs(w)->run_ns += t;
	w->run_ns += t;
	w->run_events += n - w->at;
	w->since_ckpt_ns += t;
	w->alive = true;
	w->at = n;
	return 0;
}

/* Is a restart from the checkpoint at ckpt cheaper than running there from where the process is? */
static bool jump_pays(const struct walk *w, uint64_t ckpt)
{
	struct search_costs total = search_total(w->result);
	double run, jump;

	if (!w->run_events || !total.restarts || !w->run_ns)
		return true;
	run = (double)w->run_ns / (double)w->run_events * (double)(ckpt - w->at);
	jump = (double)total.restart_ns / (double)total.restarts;
	return run > jump;
}

int walk_to(struct walk *w, uint64_t n, struct err *e)
{
	uint64_t ckpt;
	bool back = !w->alive || w->at > n;

	if (!back && w->ops->ckpt_before && w->ops->ckpt_before(w->ctx, n, &ckpt) && ckpt > w->at)
		back = jump_pays(w, ckpt);
	if (back && restart_before(w, n, e))
		return -1;
	if (w->at == n)
		return 0;
	return run_to(w, n, e);
}

int walk_evaluate(struct walk *w, enum search_value *v, struct err *e)
{
	struct search_costs *c = walk_costs(w);
	uint64_t t = walk_clock(w);

	if (walk_check(w, e))
		return -1;
	*v = SEARCH_ERROR;
	if (w->ops->evaluate(w->ctx, v, e))
		return err_wrap(e, "evaluate at event %llu", (unsigned long long)w->at);
	c->evaluations++;
	c->evaluate_ns += walk_clock(w) - t;
	if (*v == SEARCH_ERROR && w->params->on_error == SEARCH_ON_ERROR_FAIL)
		return err_set(e, ERR_USAGE, "the expression cannot be evaluated at event %llu",
			       (unsigned long long)w->at);
	return 0;
}

/*
 * The running time since the last checkpoint is paid again at each restart to come, of which one
 * expects half as many as there are evaluations left.
 */
static bool keep_pays(const struct walk *w)
{
	struct search_costs total = search_total(w->result);
	double again = (double)w->since_ckpt_ns * ((double)w->b.budget / 2 + 1);
	double cost = (double)w->params->checkpoint_cost_ns;

	if (!w->ops->clock_ns)
		return true;
	if (total.checkpoints)
		cost = (double)total.checkpoint_ns / (double)total.checkpoints;
	return cost == 0 || again > cost;
}

static int drop_own(struct walk *w, struct err *e)
{
	if (!w->own || !w->ops->drop)
		return 0;
	w->own = false;
	if (walk_check(w, e))
		return -1;
	if (w->ops->drop(w->ctx, w->own_at, e))
		return err_wrap(e, "drop the checkpoint at event %llu",
				(unsigned long long)w->own_at);
	return 0;
}

int walk_keep(struct walk *w, struct err *e)
{
	uint64_t t, ckpt;
	int r;

	if (!w->ops->checkpoint || !keep_pays(w))
		return 0;
	if (w->ops->ckpt_before && w->ops->ckpt_before(w->ctx, w->at, &ckpt) && ckpt == w->at)
		return 0;
	if (walk_check(w, e))
		return -1;
	t = walk_clock(w);
	r = w->ops->checkpoint(w->ctx, e);
	if (r < 0)
		return err_wrap(e, "checkpoint at event %llu", (unsigned long long)w->at);
	if (r > 0)
		return 0;
	walk_costs(w)->checkpoints++;
	walk_costs(w)->checkpoint_ns += walk_clock(w) - t;
	w->since_ckpt_ns = 0;
	if (drop_own(w, e))
		return -1;
	w->own = true;
	w->own_at = w->at;
	return 0;
}

int walk_probe(struct walk *w, uint64_t n, struct err *e)
{
	enum search_value v;
	bool bad;

	if (walk_to(w, n, e) || walk_evaluate(w, &v, e))
		return -1;
	bad = pred_is_bad(&w->pred, v);
	bisect_put(&w->b, n, bad);
	return bad ? 0 : walk_keep(w, e);
}

bool walk_choose(const struct walk *w, walk_find *before, walk_find *after, uint64_t *at)
{
	uint64_t first, last, mid, below = 0, above = 0;
	bool has_below, has_above;

	if (bisect_done(&w->b))
		return false;
	bisect_window(&w->b, &first, &last);
	mid = bisect_middle(&w->b);
	has_below = before(w->ctx, mid, &below) && below >= first && below <= last;
	has_above = after(w->ctx, mid, &above) && above >= first && above <= last;
	if (!has_below && !has_above)
		return false;
	*at = has_below && (!has_above || mid - below <= above - mid) ? below : above;
	return true;
}
