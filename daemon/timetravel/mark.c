/* SPDX-License-Identifier: MIT */
/* mark.c: see mark.h. */
#include "timetravel/mark.h"

#include <string.h>

#include "base/clock.h"
#include "segcursor/state_equal.h"

#define PAGE 4096u
#define LOOK_S 20 /* so long a PC is looked for that is passed again and again */

int mark_take(struct cursor *t, struct mark *s, struct err *e)
{
	struct trace *th = cursor_thread(t, t->tid, e);
	struct err ignored;
	uint64_t rsp;

	memset(s, 0, sizeof(*s));
	if (!th || trace_get_regs(th, &s->regs, e))
		return -1;
	s->event = cursor_event(t);
	s->tid = t->tid;
	rsp = s->regs.rsp;
	s->words = MARK_WORDS;
	if (!trace_read(cursor_memory(t), rsp, s->stack, sizeof(s->stack), &ignored))
		return 0;
	/* near the end of the stack */
	s->words = (uint32_t)((PAGE - rsp % PAGE) / sizeof(s->stack[0]));
	if (s->words >= MARK_WORDS || trace_read(cursor_memory(t), rsp, s->stack, s->words * sizeof(s->stack[0]), &ignored))
		s->words = 0;
	return 0;
}

static unsigned differing_words(const struct mark *a, const struct mark *b)
{
	uint32_t n = a->words < b->words ? a->words : b->words;
	unsigned differ = 0;

	for (uint32_t i = 0; i < n; i++)
		differ += a->stack[i] != b->stack[i];
	return differ;
}

bool mark_same(const struct mark *a, const struct mark *b)
{
	unsigned differ;

	return a->event == b->event && a->tid == b->tid && state_equal_values(&a->regs, &b->regs, &differ) && !differ &&
	       !differing_words(a, b);
}

/* Stands at an arrival at the PC. *least: how much the most similar one so far (*best, counted from 1) differs. */
static int compare(struct cursor *t, const struct mark *s, uint64_t k, uint64_t *best, unsigned *least, struct err *e)
{
	struct mark here;
	unsigned differ;

	if (mark_take(t, &here, e))
		return -1;
	if (!state_equal_values(&here.regs, &s->regs, &differ))
		return 0;
	differ += differing_words(&here, s);
	if (*best && differ >= *least)
		return 0;
	*best = k;
	*least = differ;
	return 0;
}

static int look(struct cursor *t, const struct mark *s, uint64_t *best, unsigned *least, struct err *e)
{
	struct breaks b = {0};
	struct stop stop = {0};
	double end = clock_s() + LOOK_S;
	int r = 0;

	breaks_add(&b, s->regs.rip, 0);
	for (uint64_t k = 1; !r && stop.kind != STOP_OVER && clock_s() < end; k += stop.kind == STOP_BREAK) {
		r = compare(t, s, k, best, least, e);
		if (!r && *best && !*least)
			break;
		do
			r = r ? r : segcur_run(&t->in, &b, &stop, e);
		while (!r && stop.kind == STOP_SIGNAL);
		if (!r && stop.kind == STOP_INTERRUPT)
			r = err_set(e, ERR_CANCELLED, "interrupted");
	}
	breaks_fini(&b);
	return r;
}

int mark_goto(struct cursor *t, const struct mark *s, bool *exact, struct err *e)
{
	uint64_t best = 0;
	unsigned least = 0;
	struct err why;

	*exact = false;
	if (cursor_goto_pc(t, s->event, s->regs.rip, 1, &why))
		return cursor_goto(t, s->event, e);
	if (look(t, s, &best, &least, e))
		return -1;
	*exact = best && !least;
	if (*exact)
		return 0;
	return best ? cursor_goto_pc(t, s->event, s->regs.rip, best, e) : cursor_goto(t, s->event, e);
}
