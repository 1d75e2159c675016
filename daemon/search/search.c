/* SPDX-License-Identifier: MIT */
/* search.c: the ends' check and the order of the stages. See search.h. */
#include "search/search.h"
#include "search/walk.h"
#include <string.h>

typedef int stage_fn(struct walk *w, struct err *e);

static int check_ends(struct walk *w, struct err *e)
{
	struct search_result *r = w->result;

	if (walk_to(w, w->params->left, e) || walk_evaluate(w, &r->left_value, e) ||
	    walk_keep(w, e) || walk_to(w, w->params->right, e) ||
	    walk_evaluate(w, &r->right_value, e))
		return -1;
	w->pred.left = r->left_value;
	w->pred.right = r->right_value;
	r->outcome = pred_differ(&w->pred) ? SEARCH_FOUND : SEARCH_EQUAL;
	return 0;
}

static int run_stage(struct walk *w, enum search_stage s, stage_fn *fn, struct err *e)
{
	uint64_t t = walk_clock(w);
	int ret;

	w->stage = s;
	if (s == SEARCH_A || s == SEARCH_B || s == SEARCH_C)
		walk_costs(w)->states = w->b.right - w->b.left;
	ret = fn(w, e);
	walk_costs(w)->total_ns += walk_clock(w) - t;
	w->result->left = w->b.left;
	w->result->right = w->b.right;
	return ret;
}

static int run_stages(struct walk *w, struct err *e)
{
	static stage_fn *const stages[SEARCH_STAGES] = {
		[SEARCH_A] = stage_ckpt,
		[SEARCH_C] = stage_event,
		[SEARCH_D] = stage_local,
	};

	if (run_stage(w, SEARCH_ENDS, check_ends, e))
		return -1;
	if (w->result->outcome == SEARCH_EQUAL)
		return 0;
	for (int s = SEARCH_A; s < SEARCH_STAGES; s++)
		if (stages[s] && run_stage(w, (enum search_stage)s, stages[s], e))
			return e->kind == ERR_NOT_FOUND ? -1
							: err_wrap(e, "stage %s", search_stage_name((enum search_stage)s));
	return 0;
}

int search_run(const struct search_ops *ops, void *ctx, const struct search_params *p,
	       struct search_result *r, struct err *e)
{
	struct walk w = {.ops = ops, .ctx = ctx, .params = p, .result = r};

	memset(r, 0, sizeof(*r));
	r->left = p->left;
	r->right = p->right;
	r->left_value = r->right_value = SEARCH_ERROR;
	if (p->left >= p->right)
		return err_set(e, ERR_USAGE,
			       "the good position %llu is not before the bad one %llu",
			       (unsigned long long)p->left, (unsigned long long)p->right);
	w.pred.on_error = p->on_error;
	bisect_init(&w.b, p->left, p->right, p->slack);
	w.evaluations_max = 2 + (uint64_t)w.b.budget;
	return run_stages(&w, e);
}

struct search_costs search_total(const struct search_result *r)
{
	struct search_costs t = {0};

	for (int s = 0; s < SEARCH_STAGES; s++) {
		const struct search_costs *c = &r->stage[s];

		t.checkpoints += c->checkpoints;
		t.restarts += c->restarts;
		t.evaluations += c->evaluations;
		t.checkpoint_ns += c->checkpoint_ns;
		t.restart_ns += c->restart_ns;
		t.evaluate_ns += c->evaluate_ns;
		t.run_ns += c->run_ns;
		t.total_ns += c->total_ns;
	}
	return t;
}

const char *search_stage_name(enum search_stage s)
{
	static const char *const names[SEARCH_STAGES] = {"ends", "A", "B", "C", "D"};

	return s < SEARCH_STAGES ? names[s] : "?";
}
