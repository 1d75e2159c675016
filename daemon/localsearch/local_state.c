/* SPDX-License-Identifier: MIT */
/* local_state.c: see local_state.h. */
#include "localsearch/local_state.h"
#include "base/clock.h"

#define BLOCK_MAX 16384
/* An evaluation that takes longer than this is worth a copy of the process, if that saves several. */
#define DEAR_NS 300000
/* After this much time with such evaluations, the segment is narrowed by time once more. */
#define DEAR_MAX_NS 500000000u

int local_evaluate(struct local *l, struct trace *t, bool *bad, struct trace_words *words, struct err *e)
{
	uint64_t start = clock_ns();
	enum trace_side side;
	int known;

	if (l->ops->cancelled && l->ops->cancelled(l->ctx))
		return err_set(e, ERR_CANCELLED, "the search was cancelled");
	words->n = 0;
	words->complete = false;
	known = l->ops->eval(l->ctx, t, &side, words, e);
	if (known < 0)
		return -1;
	l->cost_ns += l->ops->cost_ns ? l->ops->cost_ns(l->ctx) : 0;
	*bad = side == TRACE_BAD;
	l->none = side == TRACE_NONE;
	if (words->n > TRACE_WORDS_MAX)
		return err_set(e, ERR_INTERNAL, "the expression reads too many words");
	if (l->guess.n)
		*words = l->guess;
	l->r->evaluations += !known;
	l->r->evaluate_ns += clock_ns() - start;
	return 0;
}

static bool dear(const struct local *l)
{
	return !l->p->no_forks && l->r->evaluations && l->r->evaluate_ns / l->r->evaluations > DEAR_NS;
}

int local_fork(struct local *l, struct trace *from, struct trace *copy, struct err *e)
{
	uint64_t start = clock_ns();

	if (trace_fork(from, l->p->gadget, copy, e))
		return -1;
	if (l->ops->forked && l->ops->forked(l->ctx, copy, e)) {
		trace_kill(copy);
		return -1;
	}
	l->r->forks++;
	l->r->fork_ns += clock_ns() - start;
	return 0;
}

int local_fork_left(struct local *l, struct trace *copy, struct err *e)
{
	return local_fork(l, &l->left, copy, e);
}

void local_replace_left(struct local *l, const struct trace *copy)
{
	if (l->left_is_copy)
		trace_kill(&l->left);
	else
		l->original = l->left;
	l->left = *copy;
	l->left_is_copy = true;
	l->place.known = false; /* set by those who know it */
}

void local_adopt(struct local *l, const struct trace *copy, const struct trace_words *words)
{
	local_replace_left(l, copy);
	l->words = *words;
}

enum local_verdict local_answer(struct local *l, enum trace_local_outcome o)
{
	l->r->outcome = o;
	return LOCAL_ANSWERED;
}

int local_one_in_place(struct local *l, enum local_unit unit, uint64_t raw, enum local_verdict *v, struct err *e)
{
	struct trace_words words;
	enum local_move how;
	uint64_t done;
	bool bad;

	*v = LOCAL_NOT_YET;
	for (unsigned i = 0; i < l->guess.n; i++)
		if (trace_read(l->left.pid, l->guess.w[i].addr, &l->guess_before[i], 8, e))
			return -1;
	if (local_advance(l, &l->left, unit, 1, raw, &done, &how, e))
		return -1;
	if (how == LOCAL_EXITED) {
		*v = local_answer(l, TRACE_LOCAL_EXITED);
		return 0;
	}
	if (how == LOCAL_LIMIT && !done)
		return 0;
	*(unit == LOCAL_HIT ? &l->place.changes : &l->place.steps) += done;
	if (local_evaluate(l, &l->left, &bad, &words, e))
		return -1;
	if (bad)
		*v = local_answer(l, done ? TRACE_LOCAL_FOUND : TRACE_LOCAL_AT_END);
	else if (how == LOCAL_ENDED)
		*v = local_answer(l, TRACE_LOCAL_GOOD);
	if (!bad || l->p->nth)
		l->words = words;
	return 0;
}

int local_judge_copy(struct local *l, struct trace *copy, enum local_move how, bool *good, enum local_verdict *v,
		     struct err *e)
{
	struct trace_words words;
	bool bad = true;

	*v = LOCAL_NOT_YET;
	if (how != LOCAL_EXITED && local_evaluate(l, copy, &bad, &words, e)) {
		trace_kill(copy);
		return -1;
	}
	*good = !bad;
	if (bad) {
		trace_kill(copy);
		return 0;
	}
	local_adopt(l, copy, &words);
	if (how == LOCAL_ENDED)
		*v = local_answer(l, TRACE_LOCAL_GOOD);
	return 0;
}

/* Moves a copy by up to *block units; a good one becomes the left end, a bad one is dropped. */
static int block_on_copy(struct local *l, enum local_unit unit, uint64_t raw, uint64_t *block, bool *good,
			 enum local_verdict *v, struct err *e)
{
	struct trace copy;
	enum local_move how;
	uint64_t done = 0;

	if (local_fork_left(l, &copy, e))
		return -1;
	if (local_advance(l, &copy, unit, *block, raw, &done, &how, e)) {
		trace_kill(&copy);
		return -1;
	}
	if (local_judge_copy(l, &copy, how, good, v, e))
		return -1;
	if (!*good && done < *block)
		*block = done + 1;
	return 0;
}

int local_go_through(struct local *l, enum local_unit unit, uint64_t raw_max, enum local_verdict *v, struct err *e)
{
	uint64_t block = 1, begin = l->r->hits + l->r->steps, singles = 0, since = clock_ns();
	bool growing = true, good;

	for (;;) {
		uint64_t used = l->r->hits + l->r->steps - begin;
		uint64_t raw = raw_max ? raw_max - used : 0;

		*v = LOCAL_NOT_YET;
		if (raw_max && (used >= raw_max || (dear(l) && clock_ns() - since > DEAR_MAX_NS)))
			return 0;
		if (unit == LOCAL_HIT && !local_watchable(l)) /* there are too many words now */
			return l->p->no_forks ? local_go_through(l, LOCAL_STEP, 0, v, e) : 0;
		if (block == 1 || !dear(l)) {
			if (local_one_in_place(l, unit, raw, v, e))
				return -1;
			if (++singles == 4)
				growing = true;
			if (dear(l) && growing)
				block = 2;
		} else {
			singles = 0;
			if (block_on_copy(l, unit, raw, &block, &good, v, e))
				return -1;
			if (!good) {
				growing = false;
				block /= 2;
			} else if (growing && block < BLOCK_MAX) {
				block *= 2;
			} else if (!growing && block > 1) {
				block /= 2;
			}
		}
		if (*v == LOCAL_ANSWERED)
			return 0;
	}
}
