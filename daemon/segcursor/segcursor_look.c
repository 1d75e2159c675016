/* SPDX-License-Identifier: MIT */
/*
 * segcursor_look.c: decides what a walk (segcursor_walk.c) counts, and which changes of watched words are stops. A
 * change at which the condition is false costs no more than others, since its values are in the walk's log. If a
 * debugger goes backwards (watch_conditions.back), conditions are evaluated in the state before the change, else in the
 * state after it.
 */
#include <string.h>

#include "segcursor/segcursor_int.h"

/*
 * GDB always has some points in the dynamic linker. Points in libraries that the recorder calls, too, cannot be counted
 * by a walk, which ends if it meets one (int3).
 */
static void ask_points(const struct segcur *in, const struct breaks *b, struct trace_walk *w, struct breaks *rare)
{
	for (unsigned i = 0; b && i < b->n; i++) {
		if (b->v[i].data)
			continue;
		if (segcur_is_visible_code(in, b->v[i].addr))
			w->ask.place[w->ask.places++] = b->v[i].addr;
		else
			breaks_add(rare, b->v[i].addr, 0);
	}
}

static void ask_word(const struct group_slot *s, struct trace_walk *w)
{
	if (!s->kind)
		return;
	w->ask.watch[w->ask.watches].addr = s->addr;
	w->ask.watch[w->ask.watches++].len = s->len;
}

static void ask_words(const struct segcur *in, const struct breaks *b, struct trace_walk *w)
{
	for (unsigned i = 0; b && i < BREAKS_WATCHES; i++)
		ask_word(&b->watch[i], w);
	for (unsigned i = 0; w->ask.watches && in->look && i < in->look->n; i++)
		ask_word(&in->look->word[i], w);
}

void segcur_walk_ask(const struct segcur *in, const struct breaks *b, struct trace_walk *w, struct breaks *rare)
{
	ask_points(in, b, w, rare);
	ask_words(in, b, w);
}

int segcur_walk_words(const struct replay_walk *ask, pid_t pid, uint64_t word[REPLAY_WALK_WATCHES], struct err *e)
{
	memset(word, 0, REPLAY_WALK_WATCHES * sizeof(*word));
	for (unsigned i = 0; i < ask->watches; i++)
		if (trace_read(pid, ask->watch[i].addr, &word[i], ask->watch[i].len, e))
			return -1;
	return 0;
}

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

/* Is the change a stop? *of: its condition, which is true; NULL: it has none. */
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
		memcpy(l->other, c->now, sizeof(l->other));
	} else if (l->true_one && !l->false_at.n && !watch_condition_is_true_in(l->true_one, &before)) {
		l->false_at = before;
	}
}

static void look_forth(struct segcur_look *l, const struct replay_walk_change *c)
{
	const struct watch_condition *of = NULL;
	struct watch_reads after;

	if (l->last)
		return;
	know(l, c->now, &after);
	if (!is_stop(l, c, &after, &of)) {
		l->seen = after;
		return;
	}
	l->last = c->number;
	l->places = c->places;
	l->true_one = of;
	memcpy(l->other, c->was, sizeof(l->other));
	if (of && l->seen.n && !watch_condition_is_true_in(of, &l->seen))
		l->false_at = l->seen;
}

static bool is_forth(const struct breaks *b)
{
	return b->watch_conditions && !b->watch_conditions->back;
}

static bool is_within(const struct group_slot *s, uint64_t addr, unsigned len)
{
	return s->kind && addr >= s->addr && addr + len <= s->addr + s->len;
}

/* Adds a word, unless it is there already, or there is no room. */
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

	*l = (struct segcur_look){.change = is_forth(b) ? look_forth : look, .b = b};
	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		watched += b->watch[i].kind != GROUP_OFF;
	for (unsigned i = 0; i < BREAKS_WATCHES; i++) {
		const struct watch_condition *w = watch_conditions_find(b->watch_conditions, &b->watch[i]);
		struct watch_reads r = {0};

		if (w)
			watch_condition_reads(w, pid, NULL, &r);
		for (unsigned k = 0; k < r.n; k++)
			add_word(l, watched, r.v[k].addr, r.v[k].len);
	}
	in->look = l;
}

void segcur_look_note(const struct segcur_look *l, const struct stop *stop)
{
	unsigned n = 0;

	for (unsigned i = 0; i < BREAKS_WATCHES; i++) {
		const struct group_slot *s = &l->b->watch[i];
		struct watch_condition *w = watch_conditions_find(l->b->watch_conditions, s);

		if (!s->kind)
			continue;
		if (w && s->addr == stop->addr) {
			memcpy(w->other, &l->other[n], sizeof(w->other));
			if (w == l->true_one && (l->false_at.n || l->b->watch_conditions->back))
				w->last = l->false_at;
		}
		n++;
	}
}
