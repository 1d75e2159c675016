/* SPDX-License-Identifier: MIT */
/* world.c: see world.h. Misuse of the ops by the search fails the test at once. */
#include "world.h"
#include "search/pred.h"
#include <string.h>

void world_init(struct world *w, uint64_t total)
{
	memset(w, 0, sizeof(*w));
	w->total = total;
	w->error_from = 1;
	w->ckpts = 1;
	w->ns_per_event = 1;
}

void world_flip(struct world *w, uint64_t at)
{
	w->flip[w->flips++] = at;
}

void world_ckpt(struct world *w, uint64_t at)
{
	unsigned i = w->ckpts;

	assert_true(w->ckpts < WORLD_CKPTS);
	while (i && w->ckpt[i - 1] > at) {
		w->ckpt[i] = w->ckpt[i - 1];
		i--;
	}
	if (i && w->ckpt[i - 1] == at)
		fail_msg("second checkpoint at one position");
	w->ckpt[i] = at;
	w->ckpts++;
	if (w->ckpts > w->ckpts_max)
		w->ckpts_max = w->ckpts;
}

static unsigned flips_before(const struct world *w, uint64_t n)
{
	unsigned c = 0;

	while (c < w->flips && w->flip[c] <= n)
		c++;
	return c;
}

bool world_value(const struct world *w, uint64_t n)
{
	return flips_before(w, n) % 2 == 0;
}

bool world_is_transition(const struct world *w, uint64_t left, uint64_t n)
{
	return world_value(w, n) == world_value(w, left) &&
	       world_value(w, n + 1) != world_value(w, left);
}

uint64_t world_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Every op starts here: counts, and fails when it is this call's turn. */
static int enter(struct world *w, struct err *e)
{
	w->calls++;
	if (w->cancel_seen)
		w->op_after_cancel = true;
	if (w->calls == w->fail_call) {
		w->alive = false;
		return err_set(e, ERR_HOST, "injected fault");
	}
	return 0;
}

static int op_evaluate(void *ctx, enum search_value *v, struct err *e)
{
	struct world *w = ctx;
	uint64_t n = w->at;

	if (enter(w, e))
		return -1;
	assert_true(w->alive);
	w->now += w->eval_ns;
	if (w->k > w->insn_at)
		n++;
	if (n >= w->error_from && n < w->error_to)
		*v = SEARCH_ERROR;
	else
		*v = world_value(w, n) ? SEARCH_TRUE : SEARCH_FALSE;
	return 0;
}

static bool op_ckpt_before(void *ctx, uint64_t n, uint64_t *at)
{
	struct world *w = ctx;
	unsigned i = w->ckpts;

	while (i && w->ckpt[i - 1] > n)
		i--;
	if (i)
		*at = w->ckpt[i - 1];
	return i > 0;
}

static int op_restart(void *ctx, uint64_t at_most, uint64_t *at, struct err *e)
{
	struct world *w = ctx;

	if (enter(w, e))
		return -1;
	assert_true(op_ckpt_before(w, at_most, at));
	w->now += w->restart_ns;
	w->at = *at;
	w->k = 0;
	w->alive = true;
	return 0;
}

static int op_run_to(void *ctx, uint64_t n, struct err *e)
{
	struct world *w = ctx;

	if (enter(w, e))
		return -1;
	assert_true(w->alive && !w->k);
	assert_true(n > w->at && n <= w->total);
	w->events_run += n - w->at;
	w->now += (n - w->at) * w->ns_per_event;
	w->at = n;
	return 0;
}

static int op_checkpoint(void *ctx, struct err *e)
{
	struct world *w = ctx;

	if (enter(w, e))
		return -1;
	assert_true(w->alive && !w->k);
	if (w->decline) {
		w->decline--;
		return 1;
	}
	w->now += w->ckpt_ns;
	world_ckpt(w, w->at);
	return 0;
}

static int op_drop(void *ctx, uint64_t at, struct err *e)
{
	struct world *w = ctx;
	unsigned i = 0;

	if (enter(w, e))
		return -1;
	while (i < w->ckpts && w->ckpt[i] != at)
		i++;
	assert_true(i < w->ckpts && at);
	memmove(&w->ckpt[i], &w->ckpt[i + 1], (w->ckpts - i - 1) * sizeof(w->ckpt[0]));
	w->ckpts--;
	w->dropped++;
	return 0;
}

static uint64_t op_clock(void *ctx)
{
	return ((struct world *)ctx)->now;
}

static bool op_cancelled(void *ctx)
{
	struct world *w = ctx;

	if (w->cancel_call && w->calls + 1 >= w->cancel_call)
		w->cancel_seen = true;
	return w->cancel_seen;
}

/* The first half of the events took a millionth of the time. */
static uint64_t op_weight(void *ctx, uint64_t n)
{
	struct world *w = ctx;
	uint64_t half = w->total / 2;

	return n <= half ? n / 1000000 : half / 1000000 + (n - half);
}

/* Looks at all instructions of the segment; the one that insn_at names made the difference. */
static int op_local(void *ctx, uint64_t n, const struct pred *pred, struct search_costs *costs, struct err *e)
{
	struct world *w = ctx;
	enum search_value v;

	if (enter(w, e))
		return -1;
	assert_true(w->alive && w->at == n && !w->k);
	for (w->k = 0; w->k <= w->insns; w->k++) {
		if (op_cancelled(ctx))
			return err_set(e, ERR_CANCELLED, "the search was cancelled");
		if (op_evaluate(ctx, &v, e))
			return -1;
		costs->evaluations++;
		if (pred_is_bad(pred, v))
			break;
	}
	assert_true(w->k && w->k <= w->insns);
	w->found_at = w->k - 1;
	w->found = true;
	w->alive = false;
	w->k = 0;
	return 0;
}

static void op_progress(void *ctx, const struct search_progress *p)
{
	assert_true(p->left < p->right);
	assert_true(p->stage >= SEARCH_D || p->evaluations <= p->evaluations_max);
}

#define REQUIRED .evaluate = op_evaluate, .restart = op_restart, .run_to = op_run_to
#define USUAL                                                                                      \
	REQUIRED, .checkpoint = op_checkpoint, .drop = op_drop, .ckpt_before = op_ckpt_before,     \
		  .clock_ns = op_clock, .cancelled = op_cancelled, .progress = op_progress

const struct search_ops world_ops_bare = {REQUIRED};
const struct search_ops world_ops = {USUAL};
const struct search_ops world_ops_local = {USUAL, .local = op_local};
const struct search_ops world_ops_weight = {USUAL, .weight = op_weight};
