/* SPDX-License-Identifier: MIT */
/*
 * cursor_sure.c: a continue backwards that does not depend on each hit of a debug register: a processor may miss one,
 * on a virtual machine at least. What is watched must hold, after the last change that was found, what it holds where
 * the search began. Where it does not, the search is made again. The kernel changes memory without a hit, too: then the
 * second search finds the same.
 */
#define LOG_DOMAIN "cursor"
#include <string.h>

#include "base/log.h"
#include "segcursor/segcursor_int.h"
#include "timetravel/cursor_int.h"
#include "timetravel/mark.h"

#define TRIES 3

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

/* Has nothing been missed between the stop and where the words were `here`? */
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

/* The stop that was found is the right one. */
static int go_back_to(struct cursor *t, const struct timeline_point *p, const struct stop *stop, struct err *e)
{
	if (cursor_goto_point(t, p, e))
		return -1;
	t->tid = t->in.seg.tid;
	if (stop->kind == STOP_SIGNAL)
		t->in.sig = -stop->sig;
	return 0;
}

int cursor_back_continue_sure(struct cursor *t, struct stop *stop, struct err *e)
{
	struct mark from, at = {0}, before = {0};
	struct timeline_point p = {0};
	struct breaks_words here;
	struct err why;
	bool exact, again = false; /* `before` is what the search before this one found */

	if (!has_words(t) || mark_take(t, &from, &why))
		return cursor_back_continue_few(t, stop, e);
	breaks_look(&t->breaks, cursor_memory(t), &here);
	for (unsigned tries = 1;; tries++) {
		int r = cursor_back_continue_few(t, stop, e);

		if (!r && stop->kind == STOP_BEGIN)
			breaks_look(&t->breaks, cursor_memory(t), &t->at_stop);
		if (r ? e->kind != ERR_INTERNAL || tries == TRIES : agrees(t, stop, &here))
			return r;
		if (!r && (mark_take(t, &at, e) || cursor_where(t, &p, e)))
			return -1;
		if (!r && ((again && mark_same(&at, &before)) || tries == TRIES))
			return 0;
		log_warn("what is watched changed after the last change that was seen: once more");
		if (mark_goto(t, &from, &exact, r ? &why : e))
			return -1;
		if (!exact)
			return r ? -1 : go_back_to(t, &p, stop, e);
		again = !r;
		before = at;
	}
}
