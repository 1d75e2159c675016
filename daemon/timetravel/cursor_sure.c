/* SPDX-License-Identifier: MIT */
/*
 * cursor_sure.c: moves that do not rely on each hit of a debug register, since a processor may miss one, at least in
 * virtual machines. Backwards, the watched words must have, after the last change that was found, the values that they
 * had where the search began; forwards, before the first change. If they do not, the move is repeated. The kernel
 * changes memory without a hit, too: then the second attempt ends at the same place. No value tells of a missed read,
 * nor, forwards, of a missed change at which a condition is to be evaluated: such a move is made twice, if it is short.
 */
#define LOG_DOMAIN "cursor"
#include <string.h>

#include "base/log.h"
#include "segcursor/segcursor_int.h"
#include "timetravel/cursor_int.h"
#include "timetravel/mark.h"
#include "trace/budget.h"

#define TRIES 3
#define SURE_S 1.0 /* seconds of recorded time, at most, that are replayed again */
/* a move that took longer is not repeated; limit of the search for the beginning */
#define SURE_NS 2000000000ull

/* Is every change of what this slot watches a stop? */
static bool stops_each_time(const struct cursor *t, const struct group_slot *s)
{
	return s->kind && !watch_conditions_find(t->breaks.watch_conditions, s);
}

static bool has_words(const struct cursor *t)
{
	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		if (stops_each_time(t, &t->breaks.watch[i]))
			return true;
	return false;
}

/* Is the way from event a to the end of the segment after event b short? */
static bool is_short(struct cursor *t, uint64_t a, uint64_t b)
{
	uint64_t end = b < cursor_total(t) ? b + 1 : cursor_total(t);

	return cursor_seconds(t, end) - cursor_seconds(t, a) <= SURE_S;
}

static bool has_accesses(const struct cursor *t)
{
	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		if (t->breaks.watch[i].kind && t->breaks.watch[i].kind != GROUP_WRITE)
			return true;
	return false;
}

/* Was nothing missed between the stop and the state in which the words were `here`? */
static bool agrees(const struct cursor *t, const struct stop *stop, const struct breaks_words *here)
{
	if (stop->kind == STOP_LIMIT || stop->kind == STOP_INTERRUPT)
		return true;
	for (unsigned i = 0; i < BREAKS_WATCHES; i++) {
		const struct group_slot *s = &t->breaks.watch[i];

		if (!stops_each_time(t, s) || (stop->kind == STOP_WATCH && stop->before && stop->addr == s->addr))
			continue;
		if (memcmp(t->at_stop.v[i], here->v[i], sizeof(here->v[i])) != 0)
			return false;
	}
	return true;
}

/* Where the attempts have stopped. */
struct attempts {
	struct mark at[TRIES + 1];
	unsigned n;
};

/* Has an earlier attempt stopped there? If not, notes the stop. */
static bool stopped_there(struct attempts *a, const struct mark *at)
{
	for (unsigned k = 0; k < a->n; k++)
		if (mark_same(&a->at[k], at))
			return true;
	if (a->n < sizeof(a->at) / sizeof(a->at[0]))
		a->at[a->n++] = *at;
	return false;
}

static int no_two_agree(unsigned tries, struct err *e)
{
	return err_set(e, ERR_INTERNAL,
		       "the debug registers of this processor have missed what is watched: no two of %u attempts stop "
		       "at the same place",
		       tries);
}

static int not_again(struct err *e)
{
	return err_set(e, ERR_INTERNAL,
		       "what is watched has changed without a hit of a debug register, and the state where the command "
		       "began is not found again for another attempt");
}

/* Continues from event n to the stop that was noted. *exact false: there is no such stop before the next event. */
static int continue_to(struct cursor *t, const struct mark *to, bool *exact, struct err *e)
{
	struct stop stop = {0};
	struct mark here;

	*exact = false;
	if (t->ops->hold(t, to->event, e))
		return -1;
	do {
		if (cursor_continue_few(t, &stop, e) || mark_take(t, &here, e))
			return -1;
		*exact = mark_same(&here, to);
	} while (!*exact && here.event == to->event && stop.kind != STOP_END && stop.kind != STOP_INTERRUPT);
	return 0;
}

/* The next attempt could not be made: goes back to the stop that was found, which is the answer. */
static int go_back_to(struct cursor *t, const struct mark *at, const struct stop *stop, struct err *e)
{
	bool exact;

	/* a stop for libraries may be in a call of the recorder's, which only a continue reaches */
	if (stop->kind == STOP_LIBRARY ? continue_to(t, at, &exact, e) : mark_goto(t, at, &exact, e))
		return -1;
	if (!exact)
		return err_set(e, ERR_INTERNAL, "the stop after event %llu was found, but not for a second time",
			       (unsigned long long)at->event);
	if (t->mode == CURSOR_INSIDE)
		t->tid = t->in.seg.tid;
	if (stop->kind == STOP_SIGNAL)
		t->in.sig = -stop->sig;
	return 0;
}

/* Could a read have been missed? */
static bool is_for_twice(struct cursor *t, const struct stop *stop, uint64_t from, struct trace_budget *budget)
{
	return stop->kind != STOP_LIMIT && stop->kind != STOP_INTERRUPT && has_accesses(t) &&
	       is_short(t, cursor_event(t), from) && !trace_budget_is_over(budget, t->nav->t.pid);
}

int cursor_back_continue_sure(struct cursor *t, struct stop *stop, struct err *e)
{
	struct attempts attempts = {0};
	struct mark from, at = {0};
	struct trace_budget budget;
	struct breaks_words here;
	struct err why;
	bool exact;

	if (!has_words(t) || cursor_is_hidden(t, &why) || mark_take(t, &from, &why))
		return cursor_back_continue_few(t, stop, e);
	breaks_look(&t->breaks, cursor_memory(t), &here);
	for (unsigned tries = 1;; tries++) {
		bool sure;
		int r;

		trace_budget_begin(&budget, SURE_NS, t->nav->t.pid);
		r = cursor_back_continue_few(t, stop, e);
		if (!r && stop->kind == STOP_BEGIN)
			breaks_look(&t->breaks, cursor_memory(t), &t->at_stop);
		sure = !r && agrees(t, stop, &here);
		if (r ? e->kind != ERR_INTERNAL || tries == TRIES : sure && !is_for_twice(t, stop, from.event, &budget))
			return r;
		if (!r && mark_take(t, &at, e))
			return -1;
		if (!r && stopped_there(&attempts, &at))
			return 0;
		if (tries == TRIES)
			return no_two_agree(tries, e);
		log_info("what is watched may have been met after the last stop that was seen: once more");
		if (mark_goto_within(t, &from, SURE_NS, &exact, r ? &why : e))
			return -1;
		if (!exact)
			return r ? -1 : sure ? go_back_to(t, &at, stop, e) : not_again(e);
	}
}

struct forth {
	pid_t tid; /* for cursor_run_within_few */
	const uint64_t *at; /* NULL: a continue */
	unsigned n;
	struct mark from;
	struct breaks_words here;
	bool hidden; /* it begins in a call of the recorder's */
	bool twice;
};

static int go(struct cursor *t, const struct forth *f, struct stop *stop, struct err *e)
{
	return f->at ? cursor_run_within_few(t, f->tid, f->at, f->n, stop, e) : cursor_continue_few(t, stop, e);
}

/* Is a signal to be delivered in this state? Then the move cannot be made twice from here. */
static bool has_signal(struct cursor *t)
{
	struct group_thread *th = t->mode == CURSOR_GROUP ? group_find(&t->group, t->tid) : NULL;

	return t->mode == CURSOR_INSIDE ? t->in.sig : th && th->sig;
}

static bool prepare(struct cursor *t, struct forth *f)
{
	struct err ignored;
	bool any = false;
	int hidden;

	for (unsigned i = 0; i < BREAKS_WATCHES; i++) {
		const struct group_slot *s = &t->breaks.watch[i];

		any |= s->kind;
		f->twice |= s->kind && (s->kind != GROUP_WRITE || !stops_each_time(t, s));
	}
	if (!any || has_signal(t) || mark_take(t, &f->from, &ignored) || (hidden = cursor_is_hidden(t, &ignored)) < 0)
		return false;
	f->hidden = hidden;
	breaks_look(&t->breaks, cursor_memory(t), &f->here);
	return true;
}

static bool same_words(const struct cursor *t, const struct breaks_words *a, const struct breaks_words *b)
{
	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		if (stops_each_time(t, &t->breaks.watch[i]) && memcmp(a->v[i], b->v[i], sizeof(a->v[i])) != 0)
			return false;
	return true;
}

/* Reads the words before the change in this segment at which the cursor stands, and goes back there. */
static int look_before(struct cursor *t, struct breaks_words *words, struct err *e)
{
	struct stop stop;
	int r, sig;

	if (cursor_go_inside(t, e))
		return -1;
	sig = t->in.sig;
	r = t->ops->back(&t->in, e);
	if (r < 0)
		return -1;
	/* before its first state: as at the segment's beginning */
	breaks_look(&t->breaks, r ? t->in.base.pid : cursor_memory(t), words);
	if (!r && t->ops->step(&t->in, &t->breaks, &stop, e))
		return -1;
	t->in.sig = sig;
	return 0;
}

/* As far as values tell: was nothing missed up to the stop? 1, 0 or -1. */
static int is_sure(struct cursor *t, const struct forth *f, const struct stop *stop, struct err *e)
{
	struct breaks_words words;
	uint64_t event = cursor_event(t), at = 0;

	if (stop->kind == STOP_INTERRUPT)
		return 1;
	if (stop->kind != STOP_WATCH) {
		breaks_look(&t->breaks, cursor_memory(t), &words);
		return same_words(t, &words, &f->here);
	}
	if (t->mode == CURSOR_GROUP && !t->ops->checkpoint_before(t->nav, event, &at))
		at = 0;
	if (!is_short(t, t->mode == CURSOR_GROUP ? at : event, event))
		return 1;
	return look_before(t, &words, e) ? -1 : same_words(t, &words, &f->here);
}

/*
 * Goes to the beginning. A state in a call of the recorder's is a stop for libraries. *exact false: it was not found.
 */
static int go_to_begin(struct cursor *t, const struct forth *f, bool *exact, struct err *e)
{
	return f->hidden ? continue_to(t, &f->from, exact, e) : mark_goto_within(t, &f->from, SURE_NS, exact, e);
}

static int forth_sure(struct cursor *t, struct forth *f, struct stop *stop, struct err *e)
{
	struct attempts attempts = {0};
	struct mark at = {0};
	struct trace_budget budget;
	struct err why;
	bool exact;

	if (!prepare(t, f))
		return go(t, f, stop, e);
	for (unsigned tries = 1;; tries++) {
		int r, sure;

		trace_budget_begin(&budget, SURE_NS, t->nav->t.pid);
		r = go(t, f, stop, e);
		sure = r ? 0 : is_sure(t, f, stop, e);
		if (r || sure < 0)
			return r ? r : -1;
		if (stop->kind == STOP_INTERRUPT ||
		    (sure && (!f->twice || !is_short(t, f->from.event, cursor_event(t)) ||
			      trace_budget_is_over(&budget, t->nav->t.pid))))
			return 0;
		if (mark_take(t, &at, e))
			return -1;
		if (stopped_there(&attempts, &at))
			return 0;
		if (tries > TRIES)
			return no_two_agree(tries, e);
		log_info("%s: once more", sure ? "to make sure" : "what is watched has changed before the stop");
		if (go_to_begin(t, f, &exact, sure ? &why : e)) {
			if (!sure)
				return -1;
			exact = false;
		}
		if (!exact)
			return sure ? go_back_to(t, &at, stop, e) : not_again(e);
	}
}

int cursor_continue_sure(struct cursor *t, struct stop *stop, struct err *e)
{
	return forth_sure(t, &(struct forth){0}, stop, e);
}

int cursor_run_within(struct cursor *t, pid_t tid, const uint64_t *at, unsigned n, struct stop *stop, struct err *e)
{
	return forth_sure(t, &(struct forth){.tid = tid, .at = at, .n = n}, stop, e);
}
