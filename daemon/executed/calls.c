/* SPDX-License-Identifier: MIT */
/* calls.c: see calls.h. */
#include "executed/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

void calls_seen_init(struct calls_seen *c)
{
	memset(c, 0, sizeof(*c));
	c->threads = xcalloc(RLOG_MAX_THREADS, sizeof(*c->threads));
}

void calls_seen_fini(struct calls_seen *c)
{
	for (unsigned k = 0; c->threads && k < RLOG_MAX_THREADS; k++)
		free(c->threads[k].v);
	free(c->threads);
	c->threads = NULL;
}

static void begin(struct calls_seen *c, struct instrument *i, struct call_thread *t, uint64_t target)
{
	struct call_frame *f = &t->v[t->n], *in = t->n ? f - 1 : NULL;

	t->pending = false;
	f->target = target;
	f->depth = in ? in->depth + in->shown : 0;
	t->n++;
	c->begins(c->ctx, i, f);
}

/* The target of the call, from its own bytes or the word that it reads. 0: not known. */
static uint64_t named_target(struct instrument *i, const struct call_thread *t)
{
	struct err ignored;
	uint64_t word;

	if (t->v[t->n].target)
		return t->v[t->n].target;
	return t->operand && !trace_read(i->t->pid, t->operand, &word, sizeof(word), &ignored) ? word : 0;
}

void calls_seen_insn(struct calls_seen *c, struct instrument *i, const struct instrument_insn *x, uint64_t sp)
{
	struct call_thread *t = &c->threads[i->thread];

	if (t->pending)
		begin(c, i, t, sp == t->v[t->n].sp ? x->pc : named_target(i, t));
	while (t->n && sp > t->v[t->n - 1].sp) {
		t->n--;
		c->ends(c->ctx, i, &t->v[t->n], x);
	}
	t->operand = 0;
}

void calls_seen_access(struct calls_seen *c, struct instrument *i, const struct instrument_access *a)
{
	if (a->insn->shape.call)
		c->threads[i->thread].operand = a->addr;
}

static struct call_frame *add(struct call_thread *t)
{
	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 64;
		t->v = xreallocarray(t->v, t->cap, sizeof(*t->v));
	}
	t->pending = true;
	return &t->v[t->n];
}

void calls_seen_call(struct calls_seen *c, struct instrument *i, const struct instrument_insn *x)
{
	struct call_thread *t = &c->threads[i->thread];
	struct call_frame *f = add(t);

	*f = (struct call_frame){
		.sp = i->stack->v[i->stack->n - 1].sp,
		.pc = x->pc,
		.target = x->shape.direct ? x->pc + (uint64_t)x->shape.target : 0,
	};
	instrument_here(i, x, &f->at);
}

void calls_seen_over(struct calls_seen *c, struct instrument *i)
{
	struct call_thread *t = &c->threads[i->thread];

	if (t->pending)
		begin(c, i, t, named_target(i, t));
}

void calls_seen_calls_back(struct calls_seen *c, struct instrument *i)
{
	struct call_thread *t = &c->threads[i->thread];
	struct call_frame *f;

	calls_seen_over(c, i);
	if (!t->n)
		return;
	f = add(t);
	*f = (struct call_frame){.sp = i->stack->sp + 8, .pc = f[-1].pc, .at = f[-1].at};
}
