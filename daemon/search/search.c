/* SPDX-License-Identifier: MIT */
/*
 * search.c: see search.h. First the one live process of a search: where it stands, how it gets elsewhere, when a
 * position is worth a checkpoint, and what all of it costs; then the stages, which move through that only.
 */
#include "search/search.h"

#include <string.h>

#include "search/bisect.h"
#include "search/pred.h"

struct search {
	const struct search_ops *ops;
	void *ctx;
	const struct search_params *params;
	struct search_result *result;
	enum search_stage stage;
	struct pred pred;
	struct bisect b;
	bool alive; /* the process stands at `at` */
	uint64_t at;
	uint64_t since_ckpt_ns; /* running time from the checkpoint after `at` to it */
	uint64_t run_ns, run_events; /* for the rate */
	bool own; /* own_at is a checkpoint of this search, the latest one */
	uint64_t own_at;
	uint64_t evaluations_max;
};

struct search_costs search_total(const struct search_costs stage[SEARCH_STAGES])
{
	struct search_costs t = {0};

	for (int s = 0; s < SEARCH_STAGES; s++) {
		const struct search_costs *c = &stage[s];

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

/* ---- the live process ---- */

static uint64_t now_ns(const struct search *s)
{
	return s->ops->clock_ns ? s->ops->clock_ns(s->ctx) : 0;
}

static struct search_costs *costs(struct search *s)
{
	return &s->result->stage[s->stage];
}

/* Fails with ERR_CANCELLED when the client asked to stop; reports progress otherwise. */
static int check(struct search *s, struct err *e)
{
	struct search_progress p = {
		.stage = s->stage,
		.left = s->b.left,
		.right = s->b.right,
		.evaluations = search_total(s->result->stage).evaluations,
		.evaluations_max = s->evaluations_max,
	};

	if (s->ops->cancelled && s->ops->cancelled(s->ctx))
		return err_set(e, ERR_CANCELLED, "the search was cancelled");
	if (s->ops->progress)
		s->ops->progress(s->ctx, &p);
	return 0;
}

static int restart_before(struct search *s, uint64_t n, struct err *e)
{
	struct search_costs *c = costs(s);
	uint64_t t = now_ns(s), at = 0;

	if (check(s, e))
		return -1;
	s->alive = false;
	if (s->ops->restart(s->ctx, n, &at, e))
		return err_wrap(e, "restart before event %llu", (unsigned long long)n);
	if (at > n)
		return err_set(e, ERR_INTERNAL, "restart before event %llu stands at %llu", (unsigned long long)n,
			       (unsigned long long)at);
	c->restarts++;
	c->restart_ns += now_ns(s) - t;
	s->alive = true;
	s->at = at;
	s->since_ckpt_ns = 0;
	return 0;
}

static int run_to(struct search *s, uint64_t n, struct err *e)
{
	uint64_t t = now_ns(s);

	if (check(s, e))
		return -1;
	s->alive = false;
	if (s->ops->run_to(s->ctx, n, e))
		return err_wrap(e, "run to event %llu", (unsigned long long)n);
	t = now_ns(s) - t;
	costs(s)->run_ns += t;
	s->run_ns += t;
	s->run_events += n - s->at;
	s->since_ckpt_ns += t;
	s->alive = true;
	s->at = n;
	return 0;
}

/* Is a restart from the checkpoint at ckpt cheaper than running there from where the process is? */
static bool jump_pays(const struct search *s, uint64_t ckpt)
{
	struct search_costs total = search_total(s->result->stage);
	double run, jump;

	if (!s->run_events || !total.restarts || !s->run_ns)
		return true;
	run = (double)s->run_ns / (double)s->run_events * (double)(ckpt - s->at);
	jump = (double)total.restart_ns / (double)total.restarts;
	return run > jump;
}

/* Brings the live process to position n: forward, or by a restart when it is past it or a
 * checkpoint on the way makes that cheaper. */
static int go_to(struct search *s, uint64_t n, struct err *e)
{
	uint64_t ckpt;
	bool back = !s->alive || s->at > n;

	if (!back && s->ops->ckpt_before && s->ops->ckpt_before(s->ctx, n, &ckpt) && ckpt > s->at)
		back = jump_pays(s, ckpt);
	if (back && restart_before(s, n, e))
		return -1;
	if (s->at == n)
		return 0;
	return run_to(s, n, e);
}

/* Evaluates at the current position. ON_ERROR_FAIL turns SEARCH_ERROR into a failure. */
static int evaluate(struct search *s, enum search_value *v, struct err *e)
{
	struct search_costs *c = costs(s);
	uint64_t t = now_ns(s);

	if (check(s, e))
		return -1;
	*v = SEARCH_ERROR;
	if (s->ops->evaluate(s->ctx, v, e))
		return err_wrap(e, "evaluate at event %llu", (unsigned long long)s->at);
	c->evaluations++;
	c->evaluate_ns += now_ns(s) - t;
	if (*v == SEARCH_ERROR && s->params->on_error == SEARCH_ON_ERROR_FAIL)
		return err_set(e, ERR_USAGE, "the expression cannot be evaluated at event %llu",
			       (unsigned long long)s->at);
	return 0;
}

/*
 * The running time since the last checkpoint has to be spent again at each later restart; their expected number is
 * half the number of evaluations left.
 */
static bool checkpoint_pays(const struct search *s)
{
	struct search_costs total = search_total(s->result->stage);
	double again = (double)s->since_ckpt_ns * ((double)s->b.budget / 2 + 1);
	double cost = (double)s->params->checkpoint_cost_ns;

	if (!s->ops->clock_ns)
		return true;
	if (total.checkpoints)
		cost = (double)total.checkpoint_ns / (double)total.checkpoints;
	return cost == 0 || again > cost;
}

static int drop_own(struct search *s, struct err *e)
{
	if (!s->own || !s->ops->drop)
		return 0;
	s->own = false;
	if (check(s, e))
		return -1;
	if (s->ops->drop(s->ctx, s->own_at, e))
		return err_wrap(e, "drop the checkpoint at event %llu", (unsigned long long)s->own_at);
	return 0;
}

/* Checkpoints the current position, which is good, unless running here again is cheaper. */
static int checkpoint_here(struct search *s, struct err *e)
{
	uint64_t t, ckpt;
	int r;

	if (!s->ops->checkpoint || !checkpoint_pays(s))
		return 0;
	if (s->ops->ckpt_before && s->ops->ckpt_before(s->ctx, s->at, &ckpt) && ckpt == s->at)
		return 0;
	if (check(s, e))
		return -1;
	t = now_ns(s);
	r = s->ops->checkpoint(s->ctx, e);
	if (r < 0)
		return err_wrap(e, "checkpoint at event %llu", (unsigned long long)s->at);
	if (r > 0)
		return 0;
	costs(s)->checkpoints++;
	costs(s)->checkpoint_ns += now_ns(s) - t;
	s->since_ckpt_ns = 0;
	if (drop_own(s, e))
		return -1;
	s->own = true;
	s->own_at = s->at;
	return 0;
}

/* One step of the bisection: goes to n, evaluates, narrows; a good midpoint is checkpointed when that
 * is worth it (FReD's progress condition). */
static int probe(struct search *s, uint64_t n, struct err *e)
{
	enum search_value v;
	bool bad;

	if (go_to(s, n, e) || evaluate(s, &v, e))
		return -1;
	bad = pred_is_bad(&s->pred, v);
	bisect_put(&s->b, n, bad);
	return bad ? 0 : checkpoint_here(s, e);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

/* Of the cuts that the bound on evaluations allows, the one nearest to the middle of the interval that is left. */
static bool choose(const struct search *s, uint64_t *at)
{
	uint64_t first, last, mid;
	bool found = false;

	if (bisect_done(&s->b))
		return false;
	bisect_window(&s->b, &first, &last);
	mid = bisect_middle(&s->b);
	for (size_t i = 0; i < s->params->cuts_n; i++) {
		uint64_t cut = s->params->cuts[i];

		if (cut < first || cut > last || (found && distance(cut, mid) >= distance(*at, mid)))
			continue;
		*at = cut;
		found = true;
	}
	return found;
}

/* ---- the stages ---- */

static int check_ends(struct search *s, struct err *e)
{
	struct search_result *r = s->result;

	if (go_to(s, s->params->left, e) || evaluate(s, &r->left_value, e) || checkpoint_here(s, e) ||
	    go_to(s, s->params->right, e) || evaluate(s, &r->right_value, e))
		return -1;
	s->pred.left = r->left_value;
	s->pred.right = r->right_value;
	r->outcome = pred_differ(&s->pred) ? SEARCH_FOUND : SEARCH_EQUAL;
	return 0;
}

/*
 * Stage A, Search-Ckpts (FReD 3.2): bisects the cuts, where checkpoints are, to two neighbours, good and bad. A
 * cut so near an end that taking it as a midpoint would break the bound on evaluations is passed over here; stage C
 * starts from a checkpoint there all the same.
 */
static int search_ckpts(struct search *s, struct err *e)
{
	uint64_t at = 0;

	while (choose(s, &at))
		if (probe(s, at, e))
			return -1;
	return 0;
}

/* The first position whose weight reaches the middle between the ends' weights. */
static uint64_t weighted_middle(const struct search *s)
{
	uint64_t lo = s->b.left, hi = s->b.right;
	uint64_t from = s->ops->weight(s->ctx, lo), to = s->ops->weight(s->ctx, hi);
	uint64_t want = from + (to - from) / 2;

	if (to <= from)
		return bisect_middle(&s->b);
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (s->ops->weight(s->ctx, mid) < want)
			lo = mid;
		else
			hi = mid;
	}
	return hi;
}

/*
 * Stage C, Search-Determ-Event-Log (FReD 3.2, 3.3): bisects the events to two neighbours. A midpoint
 * found good is checkpointed and becomes the left end, and the search goes on from the live process;
 * one found bad means a restart at the left end. Each probe runs through at most half of what is left,
 * so the whole stage runs through the interval about once.
 *
 * With weights (recorded times) a midpoint halves the time and not the number of events, as far as
 * the bound on evaluations allows.
 */
static int search_events(struct search *s, struct err *e)
{
	while (!bisect_done(&s->b)) {
		uint64_t mid = s->ops->weight ? weighted_middle(s) : bisect_middle(&s->b);

		if (probe(s, bisect_clamp(&s->b, mid), e))
			return -1;
	}
	return 0;
}

/*
 * Stage D, Local-Search (FReD 3.2): the instruction between two neighbouring events. On a linear timeline exactly one
 * thread moves there. ops->local searches it.
 */
static int search_local(struct search *s, struct err *e)
{
	if (!s->ops->local)
		return 0;
	if (go_to(s, s->b.left, e) || check(s, e))
		return -1;
	s->alive = false;
	if (s->ops->local(s->ctx, s->b.left, &s->pred, costs(s), e))
		return e->kind == ERR_NOT_FOUND
			       ? -1
			       : err_wrap(e, "local search after event %llu", (unsigned long long)s->b.left);
	return 0;
}

typedef int stage_fn(struct search *s, struct err *e);

static int run_stage(struct search *s, enum search_stage stage, stage_fn *fn, struct err *e)
{
	uint64_t t = now_ns(s);
	int ret;

	s->stage = stage;
	bisect_limit(&s->b, s->params->slack);
	if (stage == SEARCH_A || stage == SEARCH_B || stage == SEARCH_C)
		costs(s)->states = s->b.right - s->b.left;
	ret = fn(s, e);
	costs(s)->total_ns += now_ns(s) - t;
	s->result->left = s->b.left;
	s->result->right = s->b.right;
	return ret;
}

static int run_stages(struct search *s, struct err *e)
{
	static stage_fn *const stages[SEARCH_STAGES] = {
		[SEARCH_A] = search_ckpts,
		[SEARCH_C] = search_events,
		[SEARCH_D] = search_local,
	};

	if (run_stage(s, SEARCH_ENDS, check_ends, e))
		return -1;
	if (s->result->outcome == SEARCH_EQUAL)
		return 0;
	for (int stage = SEARCH_A; stage < SEARCH_STAGES; stage++)
		if (stages[stage] && run_stage(s, (enum search_stage)stage, stages[stage], e))
			return e->kind == ERR_NOT_FOUND
				       ? -1
				       : err_wrap(e, "stage %s", search_stage_name((enum search_stage)stage));
	return 0;
}

int search_run(const struct search_ops *ops, void *ctx, const struct search_params *p, struct search_result *r,
	       struct err *e)
{
	struct search s = {.ops = ops, .ctx = ctx, .params = p, .result = r};

	memset(r, 0, sizeof(*r));
	r->left = p->left;
	r->right = p->right;
	r->left_value = r->right_value = SEARCH_ERROR;
	if (p->left >= p->right)
		return err_set(e, ERR_USAGE, "the good position %llu is not before the bad one %llu",
			       (unsigned long long)p->left, (unsigned long long)p->right);
	s.pred.on_error = p->on_error;
	bisect_init(&s.b, p->left, p->right, p->slack);
	s.evaluations_max = 2 + (uint64_t)s.b.budget;
	return run_stages(&s, e);
}
