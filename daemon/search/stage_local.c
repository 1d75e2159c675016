/* SPDX-License-Identifier: MIT */
/*
 * stage_local.c: stage D, Local-Search (FReD 3.2): the instruction between two neighbouring events.
 * On a linear timeline exactly one thread moves there. ops->local knows how to watch memory;
 * without it, the instructions are counted once and then bisected, with ceil(log2 M) evaluations.
 */
#include "search/walk.h"

static int by_watching(struct walk *w, struct err *e)
{
	struct search_result *r = w->result;
	struct search_costs *c = walk_costs(w), *l = &r->local.costs;

	if (walk_check(w, e))
		return -1;
	w->alive = false;
	if (w->ops->local(w->ctx, w->b.left, pred_is_bad, &w->pred, &r->local, e))
		return e->kind == ERR_NOT_FOUND ? -1 : err_wrap(e, "local search after event %llu", (unsigned long long)w->b.left);
	c->checkpoints += l->checkpoints;
	c->checkpoint_ns += l->checkpoint_ns;
	c->restarts += l->restarts;
	c->restart_ns += l->restart_ns;
	c->evaluations += l->evaluations;
	c->evaluate_ns += l->evaluate_ns;
	c->run_ns += l->run_ns;
	return 0;
}

/* Moves from *at instructions after event n (the live process's place) to k, restarting if need be.
 */
static int step_to(struct walk *w, uint64_t n, uint64_t *at, uint64_t k, struct err *e)
{
	if (!w->alive || *at > k) {
		w->alive = false;
		if (walk_to(w, n, e))
			return -1;
		*at = 0;
	}
	if (walk_check(w, e))
		return -1;
	if (*at < k && w->ops->step_to(w->ctx, n, k, e)) {
		w->alive = false;
		return err_wrap(e, "step after event %llu", (unsigned long long)n);
	}
	*at = k;
	return 0;
}

static int final_pcs(struct walk *w, uint64_t n, uint64_t *at, uint64_t k, struct err *e)
{
	struct search_local *l = &w->result->local;

	if (!w->ops->where)
		return 0;
	if (step_to(w, n, at, k, e) || w->ops->where(w->ctx, &l->tid, &l->pc_before, e))
		return -1;
	l->pc_insn = l->pc_before;
	if (step_to(w, n, at, k + 1, e) || w->ops->where(w->ctx, &l->tid, &l->pc_after, e))
		return -1;
	l->exact = true;
	return 0;
}

static int by_counting(struct walk *w, struct err *e)
{
	uint64_t n = w->b.left, count = 0, at = 0, k;
	struct bisect b;
	enum search_value v;

	if (walk_check(w, e))
		return -1;
	w->alive = false;
	if (w->ops->steps(w->ctx, n, &count, e))
		return err_wrap(e, "count instructions after event %llu", (unsigned long long)n);
	if (!count)
		return err_set(e, ERR_INTERNAL, "no instruction between events %llu and %llu",
			       (unsigned long long)n, (unsigned long long)n + 1);
	bisect_init(&b, 0, count, 0);
	while (!bisect_done(&b)) {
		k = bisect_middle(&b);
		if (step_to(w, n, &at, k, e) || walk_evaluate(w, &v, e))
			return -1;
		bisect_put(&b, k, pred_is_bad(&w->pred, v));
	}
	w->result->local.steps = b.left;
	k = final_pcs(w, n, &at, b.left, e) ? 1 : 0;
	w->alive = false; /* stands inside the segment */
	return k ? -1 : 0;
}

int stage_local(struct walk *w, struct err *e)
{
	int r;

	if (w->params->events_only || (!w->ops->local && (!w->ops->steps || !w->ops->step_to)))
		return 0;
	if (walk_to(w, w->b.left, e))
		return -1;
	r = w->ops->local ? by_watching(w, e) : by_counting(w, e);
	w->result->has_local = !r;
	return r;
}
