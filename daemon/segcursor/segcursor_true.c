/* SPDX-License-Identifier: MIT */
/*
 * segcursor_true.c: the last change of a watched word at which the watchpoint's condition is true, by walking
 * (segcursor_walk.c). A change at which it is false costs no stop: its values are in the walk's log. Conditions are of
 * the state before the change, where a debugger that goes backwards evaluates them.
 */
#include <string.h>

#include "segcursor/segcursor_int.h"

/* The log has the watched words in the order of their slots, and then those of the look. */
static void add_known(struct watch_reads *known, const struct group_slot *s, uint64_t value)
{
	known->v[known->n].addr = s->addr;
	known->v[known->n].len = s->len;
	memcpy(known->v[known->n++].v, &value, sizeof(value));
}

static void know(const struct segcur_look *l, const uint64_t *value, struct watch_reads *known)
{
	unsigned n = 0;

	known->n = 0;
	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		if (l->b->watch[i].kind)
			add_known(known, &l->b->watch[i], value[n++]);
	for (unsigned i = 0; i < l->n; i++)
		add_known(known, &l->word[i], value[n++]);
}

/* *of: the condition that is true; NULL: there is none. */
static bool is_stop(const struct segcur_look *l, const struct replay_walk_change *c, const struct watch_reads *before,
		    const struct watch_condition **of)
{
	unsigned n = 0;

	for (unsigned i = 0; i < BREAKS_WATCHES; i++) {
		const struct group_slot *s = &l->b->watch[i];

		if (!s->kind)
			continue;
		if (c->was[n] != c->now[n]) {
			*of = watch_conditions_find(l->b->watch_conditions, s);
			if (!*of || watch_condition_is_true_in(*of, before))
				return true;
		}
		n++;
	}
	return false;
}

static void look(struct segcur_look *l, const struct replay_walk_change *c)
{
	const struct watch_condition *of;
	struct watch_reads before;

	know(l, c->was, &before);
	if (is_stop(l, c, &before, &of)) {
		l->last = c->number;
		l->places = c->places;
		l->true_one = of;
		l->false_at.n = 0;
		memcpy(l->now, c->now, sizeof(l->now));
	} else if (l->true_one && !l->false_at.n && !watch_condition_is_true_in(l->true_one, &before)) {
		l->false_at = before;
	}
}

static bool is_within(const struct group_slot *s, uint64_t addr, unsigned len)
{
	return s->kind && addr >= s->addr && addr + len <= s->addr + s->len;
}

/* What is there already, or what there is no room for, is left out. */
static void add_word(struct segcur_look *l, unsigned watched, uint64_t addr, unsigned len)
{
	bool one = (len == 1 || len == 2 || len == 4 || len == 8) && addr % len == 0;

	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		one &= !is_within(&l->b->watch[i], addr, len);
	for (unsigned i = 0; i < l->n; i++)
		one &= !is_within(&l->word[i], addr, len);
	if (one && watched + l->n < REPLAY_WALK_WATCHES)
		l->word[l->n++] = (struct group_slot){GROUP_WRITE, addr, len};
}

void segcur_look_for_true(struct segcur *in, pid_t pid, const struct breaks *b, struct segcur_look *l)
{
	unsigned watched = 0;

	*l = (struct segcur_look){.change = look, .b = b};
	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		watched += b->watch[i].kind != GROUP_OFF;
	for (unsigned i = 0; i < BREAKS_WATCHES; i++) {
		const struct watch_condition *w = watch_conditions_find(b->watch_conditions, &b->watch[i]);
		struct watch_reads r = {0};

		if (w)
			watch_condition_reads(w, pid, &r);
		for (unsigned k = 0; k < r.n; k++)
			add_word(l, watched, r.v[k].addr, r.v[k].len);
	}
	in->look = l;
}

/* How many points are passed after the first mark. More than 0: that cannot be told. */
static int count_points(struct segcur *in, struct breaks *points, struct goal *g, uint64_t *total, uint64_t *walked,
			struct err *e)
{
	uint64_t before;
	int r = g->want ? segcur_count_by_walk(in, points, g, total, e) : segcur_walk_all(in, points, total, e);

	if (!r && segcur_count_before_walks(in, points, &before, e))
		return -1;
	*walked = r ? 0 : *total - before;
	return r;
}

static void note_other_side(const struct segcur_look *l, const struct stop *stop)
{
	unsigned n = 0;

	for (unsigned i = 0; i < BREAKS_WATCHES; i++) {
		const struct group_slot *s = &l->b->watch[i];
		struct watch_condition *w = watch_conditions_find(l->b->watch_conditions, s);

		if (!s->kind)
			continue;
		if (w && s->addr == stop->addr) {
			memcpy(w->other, &l->now[n], sizeof(w->other));
			if (w == l->true_one)
				w->last = l->false_at;
		}
		n++;
	}
}

/* Which of the two comes last: that change, or a point? */
static int to_later(struct segcur *in, struct breaks *b, struct breaks *points, struct goal *g, struct segcur_look *l,
		    struct stop *stop, struct err *e)
{
	uint64_t total = 0, walked = 0;
	int r = points->n ? count_points(in, points, g, &total, &walked, e) : 0;

	if (r)
		return r < 0 ? -1 : 2;
	if (walked > l->places)
		return segcur_nth_stop(in, points, total, stop, e);
	if (!l->last)
		return 1;
	in->look = l;
	l->change = NULL;
	r = segcur_walk_to_change(in, b, l->last, stop, e);
	in->look = NULL;
	if (!r)
		note_other_side(l, stop);
	return r < 0 ? -1 : r ? 2 : 0;
}

int segcur_last_true(struct segcur *in, struct breaks *b, struct goal *g, struct stop *stop, struct err *e)
{
	struct breaks points = {.view = b->view};
	struct segcur_look l;
	int r;

	if (!segcur_conditions_walkable(in, b))
		return 2;
	segcur_look_for_true(in, in->mark[0].pid, b, &l);
	r = segcur_walk_changes(in, g, b, e);
	in->look = NULL;
	if (r)
		return r < 0 ? -1 : 2;
	breaks_add_all(&points, b);
	memset(points.watch, 0, sizeof(points.watch));
	r = to_later(in, b, &points, g, &l, stop, e);
	breaks_fini(&points);
	return r;
}
