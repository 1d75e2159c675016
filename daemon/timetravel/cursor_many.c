/* SPDX-License-Identifier: MIT */
/*
 * cursor_many.c: watches more words than there are debug registers: the program goes the same way several times, each
 * time with some of the words in the debug registers; the first of the stops found (backwards: the last) is the result.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "segcursor/segcursor_int.h"
#include "timetravel/cursor_int.h"

struct reached {
	bool any;
	struct timeline_point at;
	struct stop stop;
};

struct many {
	struct cursor *t;
	cursor_go_fn go;
	bool back;
	struct timeline_point from;
	struct group_slot first[BREAKS_WATCHES]; /* the words that are in the registers otherwise */
	struct reached best;
};

/* Is a before b? The cursor may stand anywhere afterwards. */
static int is_before(struct cursor *t, const struct timeline_point *a, const struct timeline_point *b, bool *yes,
		     struct err *e)
{
	uint64_t k;

	*yes = a->event < b->event || (a->event == b->event && a->pc == b->pc && a->hits < b->hits);
	if (a->event != b->event || a->pc == b->pc)
		return 0;
	if (cursor_goto_point(t, b, e) || cursor_passes(t, a->pc, &k, e))
		return -1;
	*yes = k >= a->hits;
	return 0;
}

static bool is_over(const struct stop *s)
{
	return s->kind == STOP_END || s->kind == STOP_BEGIN || s->kind == STOP_LIMIT;
}

/* Compares a run's stop with those before. */
static int compare(struct many *m, const struct stop *stop, struct err *e)
{
	struct reached r = {.any = true, .stop = *stop};
	bool better = !m->best.any;

	if (cursor_where(m->t, &r.at, e))
		return -1;
	if (!better && !timeline_point_same(&r.at, &m->best.at) &&
	    (m->back ? is_before(m->t, &m->best.at, &r.at, &better, e)
		     : is_before(m->t, &r.at, &m->best.at, &better, e)))
		return -1;
	if (better)
		m->best = r;
	return 0;
}

/* Puts the words of this turn into the registers; turn 0: those that are there otherwise. */
static void choose(struct many *m, unsigned turn)
{
	struct breaks *b = &m->t->breaks;
	unsigned at = turn ? (turn - 1) * BREAKS_WATCHES : 0;

	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		b->watch[i] = !turn ? m->first[i] : at + i < b->nmore ? b->more[at + i] : (struct group_slot){0};
}

/* 1: the user wants to stop, and *stop says so. */
static int go_all(struct many *m, struct stop *stop, struct err *e)
{
	unsigned turns = 1 + (m->t->breaks.nmore + BREAKS_WATCHES - 1) / BREAKS_WATCHES;

	for (unsigned i = 0; i < turns; i++) {
		if (i && cursor_goto_point(m->t, &m->from, e))
			return -1;
		choose(m, i);
		if (m->best.any && m->back && m->best.at.event > m->t->least)
			m->t->least = m->best.at.event;
		else if (m->best.any && !m->back && (!m->t->most || m->best.at.event + 1 < m->t->most))
			m->t->most = m->best.at.event + 1;
		if (m->go(m->t, stop, e))
			return -1;
		if (stop->kind == STOP_INTERRUPT)
			return 1;
		if (!is_over(stop) && compare(m, stop, e))
			return -1;
	}
	return 0;
}

static int finish(struct many *m, struct stop *stop, struct err *e)
{
	struct cursor *t = m->t;

	if (!m->best.any)
		return 0;
	*stop = m->best.stop;
	if (cursor_goto_point(t, &m->best.at, e))
		return -1;
	t->tid = t->in.seg.tid;
	if (stop->kind == STOP_SIGNAL)
		t->in.sig = -stop->sig; /* the signal was a stop already */
	return 0;
}

static int go(struct cursor *t, cursor_go_fn fn, bool back, struct stop *stop, struct err *e)
{
	struct many m = {.t = t, .go = fn, .back = back};
	uint64_t least = t->least, most = t->most;
	struct err ignored;
	int r;

	if (!t->breaks.nmore)
		return fn(t, stop, e);
	if (cursor_where(t, &m.from, e))
		return -1;
	/* the position from which each run begins */
	if (t->ops->keep(t, NULL, &ignored) < 0 && cursor_goto_point(t, &m.from, e))
		return -1;
	memcpy(m.first, t->breaks.watch, sizeof(m.first));
	r = go_all(&m, stop, e);
	t->least = least;
	t->most = most;
	choose(&m, 0);
	return r ? (r < 0 ? -1 : 0) : finish(&m, stop, e);
}

static int forth(struct cursor *t, struct stop *stop, struct err *e)
{
	return go(t, cursor_continue_sure, false, stop, e);
}

static int back(struct cursor *t, struct stop *stop, struct err *e)
{
	return go(t, cursor_back_continue_sure, true, stop, e);
}

int cursor_continue(struct cursor *t, struct stop *stop, struct err *e)
{
	cursor_count_move(t);
	return t->calls.on ? cursor_calls_forth(t, forth, stop, e) : forth(t, stop, e);
}

int cursor_back_continue(struct cursor *t, struct stop *stop, struct err *e)
{
	cursor_count_move(t);
	return t->calls.on ? cursor_calls_back(t, back, stop, e) : back(t, stop, e);
}

/* The values of the words that are in no register, one after the other; malloc'd; NULL: there are none. */
static uint8_t *look(struct cursor *t)
{
	struct breaks *b = &t->breaks;
	uint8_t *v = b->nmore ? xcalloc(b->nmore, 8) : NULL;
	struct err ignored;

	for (unsigned i = 0; i < b->nmore; i++)
		trace_read(cursor_memory(t), b->more[i].addr, v + 8 * i, b->more[i].len, &ignored);
	return v;
}

/* A step over a change is a stop of the watchpoint. */
static void see(struct cursor *t, const uint8_t *was, struct stop *stop)
{
	cleanup_free uint8_t *now = was && stop->kind == STOP_STEP ? look(t) : NULL;

	for (unsigned i = 0; now && stop->kind == STOP_STEP && i < t->breaks.nmore; i++)
		if (memcmp(was + 8 * i, now + 8 * i, 8))
			*stop = (struct stop){STOP_WATCH, 0, t->breaks.more[i].addr, t->breaks.more[i].kind};
}

int cursor_step(struct cursor *t, pid_t tid, struct stop *stop, struct err *e)
{
	cleanup_free uint8_t *was = look(t);

	t->work++;
	if (cursor_step_few(t, cursor_now(t, tid), stop, e))
		return -1;
	see(t, was, stop);
	return 0;
}

int cursor_back_step(struct cursor *t, pid_t tid, struct stop *stop, struct err *e)
{
	cleanup_free uint8_t *was = look(t);

	t->work++;
	if (cursor_back_step_few(t, cursor_now(t, tid), stop, e))
		return -1;
	see(t, was, stop);
	return 0;
}
