/* SPDX-License-Identifier: MIT */
/* mark.c: see mark.h. */
#include "timetravel/mark.h"

#include <string.h>

#include "segcursor/state_equal.h"
#include "timetravel/cursor_int.h"

#define PAGE 4096u
#define LOOK_NS 20000000000ull

/* The top of the stack at s->regs.rsp; near the end of the stack it is shorter. */
static void read_stack(struct mark *s, pid_t pid)
{
	uint64_t rsp = s->regs.rsp;
	struct err ignored;

	s->words = MARK_WORDS;
	if (!trace_read(pid, rsp, s->stack, sizeof(s->stack), &ignored))
		return;
	s->words = (uint32_t)((PAGE - rsp % PAGE) / sizeof(s->stack[0]));
	if (s->words >= MARK_WORDS || trace_read(pid, rsp, s->stack, s->words * sizeof(s->stack[0]), &ignored))
		s->words = 0;
}

int mark_take(struct cursor *t, struct mark *s, struct err *e)
{
	memset(s, 0, sizeof(*s));
	if (t->ops->regs(t, t->tid, &s->regs, e))
		return -1;
	s->event = cursor_event(t);
	s->tid = target_shown_tid(&t->nav->t, cursor_ordinal(t, t->tid), t->tid);
	read_stack(s, cursor_memory(t));
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

static int differs(void *ctx, struct trace *t, const struct user_regs_struct *r, uint64_t least, uint64_t *differ,
		   struct err *e)
{
	const struct mark *s = ctx;
	struct mark here = {.regs = *r};
	unsigned registers;

	if (!state_equal_values(r, &s->regs, &registers))
		return 0;
	read_stack(&here, t->pid);
	*differ = registers + differing_words(&here, s);
	return 1;
}

int mark_goto_within(struct cursor *t, const struct mark *s, uint64_t budget_ns, bool *exact, struct err *e)
{
	struct segcur_similar like = {
		.pc = s->regs.rip, .differ = differs, .ctx = (void *)s, .budget_ns = budget_ns, .cut_will_do = true};
	int r = t->ops->enter(t, s->event, e);

	*exact = false;
	if (!r)
		r = t->ops->most_similar(&t->in, &like, e);
	if (r)
		return r < 0 ? -1 : cursor_goto(t, s->event, e);
	*exact = !like.least;
	return 0;
}

int mark_goto(struct cursor *t, const struct mark *s, bool *exact, struct err *e)
{
	return mark_goto_within(t, s, LOOK_NS, exact, e);
}
