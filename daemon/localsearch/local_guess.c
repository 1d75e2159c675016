/* SPDX-License-Identifier: MIT */
/* local_guess.c: see local_guess.h. */
#include "localsearch/local_guess.h"
#include "trace/delta.h"
#include <string.h>

#define WORDS_MAX (4u << 20)

/* A copy of the left end with some words of the right end in it. */
struct mixture {
	struct local *l;
	const struct delta *d;
	struct trace t;
	bool from_low;
	size_t have; /* words of the right end, from the low or from the high addresses on */
};

/* Changes the number of words from the right end to k. */
static int mix(struct mixture *m, size_t k, struct err *e)
{
	size_t lo = k < m->have ? k : m->have, hi = k < m->have ? m->have : k;
	bool take = k > m->have;
	size_t from = m->from_low ? lo : m->d->n - hi, to = m->from_low ? hi : m->d->n - lo;
	const uint64_t *contents = take ? m->d->right : m->d->left;

	m->have = k;
	return delta_apply(m->t.pid, m->d, from, to, contents, e);
}

/*
 * Is it bad in a mixture? The program was never in such a state, so the expression may have no value in it, which
 * counts as good here.
 */
static bool mixture_is_bad(struct mixture *m)
{
	struct trace_words words;
	struct err ignored;
	bool bad = false;

	m->t.mixture = true;
	if (local_evaluate(m->l, &m->t, &bad, &words, &ignored))
		bad = false;
	return bad;
}

/* Finds the word that makes the mixture bad: with the first *k words it is good, with one more it is bad. */
static int critical(struct mixture *m, bool from_low, size_t *word, struct err *e)
{
	size_t good = 0, bad = m->d->n;

	if (mix(m, 0, e))
		return -1;
	m->from_low = from_low;
	while (bad - good > 1) {
		size_t k = good + (bad - good) / 2;

		if (m->l->ops->cancelled && m->l->ops->cancelled(m->l->ctx))
			return err_set(e, ERR_CANCELLED, "the search was cancelled");
		if (mix(m, k, e))
			return -1;
		if (mixture_is_bad(m))
			bad = k;
		else
			good = k;
	}
	*word = from_low ? bad - 1 : m->d->n - bad;
	return 0;
}

static int choose(struct local *l, const struct delta *d, struct err *e)
{
	struct mixture m = {.l = l, .d = d};
	size_t low = 0, high = 0;
	int r;

	if (local_fork_left(l, &m.t, e))
		return -1;
	r = critical(&m, true, &low, e) || critical(&m, false, &high, e) ? -1 : 0;
	trace_kill(&m.t);
	if (r)
		return -1;
	l->guess.w[l->guess.n++] = (struct trace_word){d->addr[low], 8};
	if (high != low && l->free_slots > 1)
		l->guess.w[l->guess.n++] = (struct trace_word){d->addr[high], 8};
	l->guess.complete = true;
	return 0;
}

/* Runs a copy for cpu_ns: 1 when it is bad there, 0 when that leads nowhere. A good one is adopted.
 */
static int run_on(struct local *l, uint64_t cpu_ns, struct trace *right, enum local_verdict *v, struct err *e)
{
	struct trace_words words;
	enum local_move how;
	uint64_t ran;
	bool bad;

	if (local_run(l, right, cpu_ns, &ran, &how, e))
		return -1;
	if (how == LOCAL_EXITED)
		return 0;
	if (local_evaluate(l, right, &bad, &words, e))
		return -1;
	if (bad)
		return 1;
	local_adopt(l, right, &words);
	memset(right, 0, sizeof(*right));
	if (how == LOCAL_ENDED)
		*v = local_answer(l, TRACE_LOCAL_GOOD);
	return 0;
}

int local_guess(struct local *l, uint64_t cpu_ns, enum local_verdict *v, struct err *e)
{
	struct delta d = {0};
	struct trace right;
	int r;

	*v = LOCAL_NOT_YET;
	if (l->p->no_watch || l->p->no_guess)
		return 0;
	if (local_fork_left(l, &right, e))
		return -1;
	r = run_on(l, cpu_ns, &right, v, e);
	if (r == 1) {
		r = delta_diff(l->left.pid, right.pid, WORDS_MAX, &d, e);
		if (!r && d.n)
			r = choose(l, &d, e);
	}
	trace_kill(&right);
	delta_fini(&d);
	if (l->guess.n)
		l->words = l->guess;
	return r < 0 ? -1 : 0;
}

static void drop_guess(struct local *l)
{
	l->guess.n = 0;
	l->words.n = 0;
	l->words.complete = false;
}

/* Is the expression good with the guessed words as they were before the last hit? */
static int stands(struct local *l, bool *ok, struct err *e)
{
	struct mixture m = {.l = l};
	int r = 0;

	if (local_fork_left(l, &m.t, e))
		return -1;
	for (unsigned i = 0; i < l->guess.n && !r; i++)
		r = trace_write(m.t.pid, l->guess.w[i].addr, &l->guess_before[i], 8, e);
	if (!r)
		*ok = !mixture_is_bad(&m);
	trace_kill(&m.t);
	return r;
}

/* Undoes what was done by the guess: the left end is where it was. */
static void take_back(struct local *l, struct trace *base)
{
	l->r->outcome = 0;
	local_replace_left(l, base);
	memset(base, 0, sizeof(*base));
	drop_guess(l);
}

int local_guided(struct local *l, uint64_t raw_max, enum local_verdict *v, struct err *e)
{
	struct trace base;
	bool ok = false;
	int r;

	if (local_fork_left(l, &base, e))
		return -1;
	r = local_go_through(l, LOCAL_HIT, raw_max, v, e);
	if (!r && *v == LOCAL_ANSWERED && l->r->outcome == TRACE_LOCAL_FOUND)
		r = stands(l, &ok, e);
	if (!r && *v == LOCAL_ANSWERED && !ok && l->r->outcome != TRACE_LOCAL_GOOD) {
		take_back(l, &base);
		*v = LOCAL_NOT_YET;
	}
	trace_kill(&base);
	return r;
}
