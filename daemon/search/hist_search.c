/* SPDX-License-Identifier: MIT */
/* hist_search.c: see hist_search.h. */
#include "search/hist_search.h"
#include "hist/decompose.h"
#include "search/bisect.h"
#include "search/pred.h"
#include <inttypes.h>
#include <string.h>

struct searching {
	const struct hist_search_ops *ops;
	void *ctx;
	struct hist_cursor cursor;
	struct pred pred;
	struct hist h; /* good at cursor.base, bad at its end */
	struct hist_search_result *r;
};

static int evaluate_at(struct searching *s, uint64_t k, enum search_value *v, struct err *e)
{
	if (s->ops->cancelled && s->ops->cancelled(s->ctx))
		return err_set(e, ERR_CANCELLED, "the search was cancelled");
	if (hist_cursor_goto(&s->cursor, &s->h, k, e))
		return -1;
	*v = SEARCH_ERROR;
	if (s->ops->evaluate(s->ctx, v, e))
		return err_wrap(e, "evaluate after command %" PRIu64, k);
	s->r->evaluations++;
	if (*v == SEARCH_ERROR && s->pred.on_error == SEARCH_ON_ERROR_FAIL)
		return err_set(e, ERR_USAGE,
			       "the expression cannot be evaluated after command %" PRIu64, k);
	return 0;
}

static int check_ends(struct searching *s, struct err *e)
{
	struct hist_search_result *r = s->r;

	if (evaluate_at(s, 0, &r->left_value, e) ||
	    evaluate_at(s, hist_length(&s->h), &r->right_value, e))
		return -1;
	s->pred.left = r->left_value;
	s->pred.right = r->right_value;
	r->outcome = pred_differ(&s->pred) ? SEARCH_FOUND : SEARCH_EQUAL;
	return 0;
}

/* Narrows to one command; s->h then ends with it. *good: commands before it. */
static int bisect_commands(struct searching *s, uint64_t good, struct err *e)
{
	struct bisect b;

	bisect_init(&b, good, hist_length(&s->h), 0);
	while (!bisect_done(&b)) {
		uint64_t mid = bisect_middle(&b);
		enum search_value v;
		bool bad;

		if (evaluate_at(s, mid, &v, e))
			return -1;
		bad = pred_is_bad(&s->pred, v);
		bisect_put(&b, mid, bad);
		if (!bad && hist_cursor_checkpoint(&s->cursor, e))
			return -1;
	}
	hist_truncate(&s->h, b.right);
	return 0;
}

static int narrow(struct searching *s, struct err *e)
{
	uint64_t good = 0;

	for (;;) {
		if (bisect_commands(s, good, e))
			return -1;
		good = hist_length(&s->h) - 1;
		s->r->last = hist_at(&s->h, good);
		if (s->r->last >= HIST_STEP)
			return 0;
		if (hist_decompose(&s->h, &s->cursor, HIST_STEP, e))
			return -1;
		if (hist_length(&s->h) <= good)
			return err_set(e, ERR_INTERNAL,
				       "the expression changed although %s did nothing",
				       hist_cmd_name(s->r->last));
	}
}

static int run(struct searching *s, struct err *e)
{
	if (!s->h.n)
		return err_set(e, ERR_USAGE, "the debug history is empty");
	if (check_ends(s, e))
		return -1;
	if (s->r->outcome == SEARCH_EQUAL)
		return 0;
	if (narrow(s, e) || hist_copy(&s->r->good, &s->h, e))
		return -1;
	hist_truncate(&s->r->good, hist_length(&s->h) - 1);
	return 0;
}

int hist_search(const struct hist_search_ops *ops, void *ctx, const struct hist *h,
		enum search_on_error on_error, struct hist_search_result *r, struct err *e)
{
	struct searching s = {.ops = ops, .ctx = ctx, .r = r, .pred = {.on_error = on_error}};
	int ret;

	memset(r, 0, sizeof(*r));
	hist_cursor_init(&s.cursor, &ops->debugger, ctx);
	ret = hist_copy(&s.h, h, e) || run(&s, e) ? -1 : 0;
	r->restarts = s.cursor.restarts;
	r->checkpoints = s.cursor.checkpoints;
	hist_fini(&s.h);
	return ret;
}

void hist_search_result_fini(struct hist_search_result *r)
{
	hist_fini(&r->good);
}
