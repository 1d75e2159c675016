/* SPDX-License-Identifier: MIT */
/*
 * stage_local.c: stage D, Local-Search (FReD 3.2): the instruction between two neighbouring events.
 * On a linear timeline exactly one thread moves there. How it is searched is ops->local's business.
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
	c->states = l->states;
	c->evaluate_ns += l->evaluate_ns;
	c->run_ns += l->run_ns;
	return 0;
}

int stage_local(struct walk *w, struct err *e)
{
	int r;

	if (w->params->events_only || !w->ops->local)
		return 0;
	if (walk_to(w, w->b.left, e))
		return -1;
	r = by_watching(w, e);
	w->result->has_local = !r;
	return r;
}
