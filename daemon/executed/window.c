/* SPDX-License-Identifier: MIT */
/* window.c: see window.h. */
#include "executed/window.h"

#include <inttypes.h>

static bool is_before(const struct timeline_point *a, const struct timeline_point *b)
{
	if (a->event != b->event)
		return a->event < b->event;
	return !a->pc && b->pc;
}

int window_init(struct exec_window *w, struct nav *nav, const char *from, const char *to, struct err *e)
{
	*w = (struct exec_window){0};
	if (nav_resolve(nav, from ? from : "start", &w->from, e) || nav_resolve(nav, to ? to : "end", &w->to, e))
		return -1;
	if (is_before(&w->to, &w->from) || (w->from.event == w->to.event && !w->to.pc))
		return err_set(e, ERR_USAGE, "there is nothing from %s to %s", from ? from : "start", to ? to : "end");
	w->end = w->to.event + (w->to.pc != 0);
	if (w->end > nav_total(nav))
		return err_set(e, ERR_USAGE, "there is nothing after event %" PRIu64 ", the last one", nav_total(nav));
	w->side = w->from.pc ? WINDOW_BEFORE : WINDOW_IN;
	return 0;
}

static int countable(const struct instrument *i, const struct timeline_point *p, struct err *e)
{
	if (!p->pc || p->event != i->event || visibility_is_certain(&i->visibility, p->pc))
		return 0;
	return err_set(e, ERR_USAGE,
		       "%" PRIu64 "/0x%" PRIx64 "#%" PRIu64
		       " is in libc or in the loader, whose instructions the recorder executes, too: give a position "
		       "in the program",
		       p->event, p->pc, p->hits);
}

int window_begun(struct exec_window *w, const struct instrument *i, struct err *e)
{
	return countable(i, &w->from, e) || countable(i, &w->to, e) ? -1 : 0;
}

static bool is_at(const struct instrument *i, const struct instrument_insn *x, const struct timeline_point *p)
{
	return p->pc == x->pc && p->hits == x->hits && p->event == i->event;
}

enum window_side window_side(struct exec_window *w, const struct instrument *i, const struct instrument_insn *x)
{
	if (w->side == WINDOW_BEFORE && is_at(i, x, &w->from))
		w->side = WINDOW_IN;
	if (w->side == WINDOW_IN && is_at(i, x, &w->to))
		w->side = WINDOW_AFTER;
	w->insns += w->side == WINDOW_IN;
	return w->side;
}

int window_over(const struct exec_window *w, struct err *e)
{
	const struct timeline_point *p = w->side == WINDOW_BEFORE ? &w->from : &w->to;

	if (w->side == WINDOW_AFTER || (w->side == WINDOW_IN && !w->to.pc))
		return 0;
	return err_set(e, ERR_USAGE,
		       "the thread does not come to 0x%" PRIx64 " %" PRIu64 " times after event %" PRIu64
		       " (or comes there before the window begins)",
		       p->pc, p->hits, p->event);
}
