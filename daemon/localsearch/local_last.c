/* SPDX-License-Identifier: MIT */
/* local_last.c: see local_last.h. */
#define LOG_DOMAIN "last"
#include "localsearch/local_last.h"

#include "base/clock.h"
#include "base/log.h"
#include "localsearch/local_count.h"
#include "localsearch/local_line.h"

#define SAMPLES_MIN 16
#define SAMPLES_MAX 64
/* about this many branches are walked for the samples of a long segment */
#define SAMPLES_BRANCHES 100000000u
#define AGAIN 2 /* two runs through the same part have found different changes */
#define LOOKS 4 /* attempts before an error, if each finds other changes */
#define SAMPLES_WHOLE 4000 /* the same if the caller gives a time of its own: as many as fit into that */

/* What a copy found that went on from a bad state. */
struct later {
	uint64_t changes; /* the number of changes */
	uint64_t turn; /* the number of the last change from good to bad; 0: there was none */
	uint64_t sum, turn_sum; /* checksums of the words' contents after each change: of all; of those up to `turn` */
	uint64_t end_sum; /* the same of the contents at the end of the segment */
	bool good; /* it became good again, and has not been bad since */
	bool end; /* it came to the end of the segment */
	bool quiet; /* the words were not written on the way, not even with the values that they had */
};

/* Notes the value after a change, except for a change that is undone within its statement. */
static int put(struct local *l, struct trace *copy, bool bad, struct later *a, struct err *e)
{
	bool stays;

	if (local_stays(l, copy, bad, &stays, e))
		return -1;
	if (!stays)
		return 0;
	a->good = !bad;
	if (bad) {
		a->turn = a->changes;
		a->turn_sum = a->sum;
	}
	return 0;
}

/* From change to change, to the end of the segment or of the time. first: at most to the first good state. */
static int look_ahead(struct local *l, struct trace *copy, bool first, struct later *a, struct err *e)
{
	uint64_t done, hits = l->r->hits, begin_sum = 0;
	struct trace_words words;
	enum local_move how;
	bool bad;

	*a = (struct later){0};
	local_add_contents(l, copy, &begin_sum);
	while (local_watchable(l)) {
		if (local_advance(l, copy, LOCAL_HIT, 1, 0, &done, &how, e))
			return -1;
		a->end = how == LOCAL_ENDED;
		if (a->end)
			local_add_contents(l, copy, &a->end_sum);
		a->quiet = hits == l->r->hits && a->end_sum == begin_sum;
		if (how != LOCAL_MOVED)
			return 0;
		if (local_evaluate(l, copy, &bad, &words, e))
			return -1;
		a->changes++;
		l->words = words;
		local_add_contents(l, copy, &a->sum);
		if (!l->none && bad == a->good && put(l, copy, bad, a, e))
			return -1;
		if (first && a->good)
			return 0;
	}
	return 0;
}

/*
 * t goes on by that many changes. *sum: as in struct later, including the changes before. 1: the thread makes fewer;
 * then *end_sum is set as well, unless the thread has ended.
 */
static int go_on(struct local *l, struct trace *t, uint64_t changes, uint64_t *sum, uint64_t *end_sum, struct err *e)
{
	while (changes--) {
		struct trace_words before = l->words, words;
		enum local_move how;
		uint64_t done;
		bool bad;

		if (local_advance(l, t, LOCAL_HIT, 1, 0, &done, &how, e))
			return -1;
		*end_sum = 0;
		if (how == LOCAL_ENDED)
			local_add_contents(l, t, end_sum);
		if (how != LOCAL_MOVED)
			return 1;
		if (local_evaluate(l, t, &bad, &words, e))
			return -1;
		l->words = words;
		local_add_contents(l, t, sum);
		if (!changes) /* what is watched for the last change tells what the words were */
			l->words = before;
	}
	return 0;
}

/*
 * A processor may miss the hit of a debug register once in millions, at least in virtual machines. So the way to the
 * end is repeated, from change number a->turn, where `from` is and l->words are the next words to watch. 1: it was
 * different.
 */
static int rest_is_same(struct local *l, struct trace *from, const struct later *a, struct err *e)
{
	uint64_t sum = a->turn_sum, end_sum = 0, rest = a->changes - a->turn;
	struct trace copy;
	int r;

	if (local_fork(l, from, &copy, e))
		return -1;
	copy.aside = true;
	r = go_on(l, &copy, rest + 1, &sum, &end_sum, e);
	trace_kill(&copy);
	return r < 0 ? -1 : r != 1 || sum != a->sum || end_sum != a->end_sum;
}

/* Goes on to the last transition that the copy has found. 1: the way was different; the left end is where it was. */
static int go_to_turn(struct local *l, const struct later *a, struct err *e)
{
	struct trace_local_place place = l->place;
	struct trace_words words = l->words, watched, rest;
	uint64_t sum = 0, end_sum = 0;
	struct trace here;
	bool bad;
	int r;

	if (local_fork_left(l, &here, e))
		return -1;
	r = go_on(l, &l->left, a->turn, &sum, &end_sum, e);
	r = r ? r : sum != a->turn_sum;
	watched = l->words;
	if (!r && a->end) {
		l->left.aside = true;
		r = local_evaluate(l, &l->left, &bad, &rest, e);
		l->left.aside = false;
		l->words = rest;
		r = r ? r : rest_is_same(l, &l->left, a, e);
		l->words = watched;
	}
	if (r <= 0) {
		l->place.changes += a->turn;
		trace_kill(&here);
		return r;
	}
	local_replace_left(l, &here);
	l->place = place;
	l->words = words;
	return 1;
}

/*
 * The copy is where the expression became good, and has not been bad since: it becomes the left end, from which the
 * search goes on.
 */
static int from_there(struct local *l, struct trace *copy)
{
	local_replace_left(l, copy);
	l->guess.n = 0;
	return 1;
}

/*
 * With the words that the expression reads. 1: the search goes on from the left end; 0: the left end is at the last bad
 * state; AGAIN: the left end is where it was.
 */
static int later_exactly(struct local *l, struct trace *copy, struct later *a, struct err *e)
{
	struct trace_words before = l->words, after;
	bool bad;
	/*
	 * the expression may now read more than the words by which the transition was found, such as another object of
	 * a pointer
	 */
	int r = local_evaluate(l, copy, &bad, &after, e);

	l->words = after;
	r = r ? r : look_ahead(l, copy, false, a, e);
	l->words = a->turn ? after : before;
	if (!r && a->good)
		return from_there(l, copy);
	trace_kill(copy);
	if (r)
		return -1;
	l->r->lasts = a->end;
	l->hurry = false;
	if (a->turn) {
		r = go_to_turn(l, a, e);
		if (!r)
			local_answer(l, TRACE_LOCAL_FOUND);
	} else if (a->end && !a->quiet) {
		l->words = after;
		r = rest_is_same(l, &l->left, a, e);
	}
	if (r == 1 || !a->turn)
		l->words = before;
	if (r == 1)
		log_warn("not the same changes each time: a hit of a debug register was missed");
	return r == 1 ? AGAIN : r;
}

/* The same with guessed words. */
static int later_by_guess(struct local *l, struct trace *copy, struct later *a, struct err *e)
{
	struct trace_words words = l->words;
	int r = look_ahead(l, copy, true, a, e);

	l->words = words;
	if (!r && a->good)
		return from_there(l, copy);
	trace_kill(copy);
	return r;
}

/* ---- what it reads is not known: some states ---- */

/* Of [1, n], the ith number in an order in which the first k of them are about equally far apart, and the powers of
 * two, in turn. */
static uint64_t sample(uint64_t i, uint64_t n)
{
	uint64_t at = 0, half = (n + 1) / 2;

	if (i % 2)
		return i / 2 < 63 && 1ull << (i / 2) <= n ? 1ull << (i / 2) : n;
	for (i = i / 2 + 1; i; i >>= 1, half = (half + 1) / 2)
		at += i & 1 ? half : 0;
	return at < 1 ? 1 : at > n ? n : at;
}

/* Examines a copy before the nth branch after the left end. 1: it is good there, and becomes the left end. */
static int look_at_branch(struct local *l, uint64_t nth, struct err *e)
{
	struct trace_walk w;
	struct trace_local_place place = l->place;
	struct trace_words words;
	struct trace copy;
	bool ended, bad = true;
	int r;

	if (local_fork_left(l, &copy, e))
		return -1;
	copy.aside = true;
	r = local_walk_copy(l, &copy, nth, &w, &ended, e);
	if (r == WALK_THERE && !ended && local_evaluate(l, &copy, &bad, &words, e))
		r = -1;
	if (r != WALK_THERE || ended || bad || l->none) {
		trace_kill(&copy);
		return r < 0 ? -1 : 0;
	}
	local_replace_left(l, &copy);
	/* the first branch counted from here is the one in front of which it stands */
	place.branches += nth - 1;
	place.changes = place.steps = 0;
	l->place = place;
	l->guess.n = 0;
	return 1;
}

/* How many branches there are after the left end, as far as can be walked. */
static int count_after(struct local *l, uint64_t *n, struct err *e)
{
	struct trace_walk w;
	struct trace copy;
	bool ended;
	int r;

	if (local_fork_left(l, &copy, e))
		return -1;
	r = local_walk_copy(l, &copy, 0, &w, &ended, e);
	trace_kill(&copy);
	*n = w.ask.branches_at ? w.ask.branches : 0;
	return r < 0 ? -1 : 0;
}

/*
 * Is the ith of n states examined? Their number does not depend on time: each search, on a busy machine as well,
 * examines the same ones.
 */
static bool samples_go_on(struct local *l, uint64_t i, uint64_t n)
{
	uint64_t most = SAMPLES_BRANCHES / n;

	if (i >= 2 * n)
		return false;
	if (l->p->lasting_ns)
		return i < SAMPLES_MIN || (i < SAMPLES_WHOLE && !local_lasting_is_over(l, &l->left));
	return i < SAMPLES_MIN || (i < SAMPLES_MAX && i < most);
}

/*
 * Is the expression good somewhere after the left end? Examines states that are chosen by their branch numbers. As
 * local_look_later.
 */
static int later_by_samples(struct local *l, struct err *e)
{
	uint64_t n;
	int r;

	if (!local_can_walk(l) || !l->place.known)
		return 0;
	r = count_after(l, &n, e);
	for (uint64_t i = 0; !r && n && samples_go_on(l, i, n); i++)
		r = look_at_branch(l, sample(i, n), e);
	return r;
}

static int fork_to_look(struct local *l, struct trace *copy, struct err *e)
{
	if (local_fork_left(l, copy, e))
		return -1;
	copy->aside = true;
	l->hurry = true;
	return 0;
}

/* The left end is at a good state that was found after a bad one: reads its words. */
static int begin_again(struct local *l, struct err *e)
{
	struct trace_words words;
	bool bad;

	l->left.aside = false;
	if (local_evaluate(l, &l->left, &bad, &words, e))
		return -1;
	l->words = words;
	l->r->outcome = 0;
	return 0;
}

int local_look_later(struct local *l, struct err *e)
{
	struct user_regs_struct before = l->before;
	bool known = l->before_known, guessed = l->guess.n;
	uint64_t evaluations = l->r->evaluations;
	unsigned looks = 0;
	struct later a = {0};
	struct trace copy;
	int r;

	if (!l->p->lasting || l->p->no_forks)
		return 0;
	if (!local_watchable(l)) {
		r = later_by_samples(l, e);
		l->r->later_evaluations += l->r->evaluations - evaluations;
		l->before = before;
		l->before_known = known && !r;
		return r == 1 && begin_again(l, e) ? -1 : r;
	}
	do {
		if (fork_to_look(l, &copy, e))
			return -1;
		r = guessed ? later_by_guess(l, &copy, &a, e) : later_exactly(l, &copy, &a, e);
	} while (r == AGAIN && ++looks < LOOKS);
	if (r == AGAIN)
		r = err_set(
			e, ERR_HOST,
			"the debug registers of this processor have missed changes in each of %u attempts: try again",
			looks);
	l->r->later_evaluations += l->r->evaluations - evaluations;
	l->hurry = false;
	l->before = before;
	l->before_known = known && !a.turn && !r;
	if (r == 1 && begin_again(l, e))
		return -1;
	return r;
}

int local_next_stretch(struct local *l, bool *good, struct err *e)
{
	struct trace_local_place place = {l->place.known, l->place.gaps + 1};
	struct trace_words words;
	struct trace copy;
	uint64_t branches;
	bool ended, bad = true;
	int r;

	*good = false;
	if (!local_can_walk(l) || !l->place.known)
		return 0;
	if (local_fork_left(l, &copy, e))
		return -1;
	copy.aside = true;
	r = local_over_gap(l, &copy, &branches, &ended, e);
	if (!r)
		r = local_evaluate(l, &copy, &bad, &words, e);
	if (r) {
		trace_kill(&copy);
		return r < 0 ? -1 : 0;
	}
	l->r->later_evaluations++;
	local_replace_left(l, &copy);
	l->place = place;
	l->words = words;
	*good = !bad && !l->none;
	return *good && begin_again(l, e) ? -1 : 1;
}
