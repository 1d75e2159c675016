/* SPDX-License-Identifier: MIT */
/* why.c: the tree of why.h. */
#include "why/why.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct why_operand *why_operand_new(const struct insn_loc *l, pid_t tid)
{
	struct why_operand *o = xcalloc(1, sizeof(*o));

	o->l = *l;
	o->tid = tid;
	return o;
}

static void step_free(struct why_step *s)
{
	for (size_t k = 0; k < s->n; k++) {
		why_operand_fini(s->v[k]);
		free(s->v[k]);
	}
	free(s->v);
	json_decref(s->thread);
	json_decref(s->location);
	json_decref(s->backtrace);
	free(s->name);
	free(s->before);
	free(s->after);
	free(s->words);
	free(s->end_text);
	free(s);
}

void why_operand_fini(struct why_operand *o)
{
	free(o->name);
	free(o->text);
	free(o->function);
	free(o->end_text);
	if (o->from && !o->again)
		step_free(o->from);
	memset(o, 0, sizeof(*o));
}

struct why_step *why_step_new(void)
{
	return xcalloc(1, sizeof(struct why_step));
}

static bool same_place(const struct insn_loc *a, const struct insn_loc *b)
{
	return a->where == b->where && a->reg == b->reg && a->off == b->off && a->addr == b->addr && a->len == b->len;
}

/* Takes o over; what the statement has used already is not added again. */
void why_step_add(struct why_step *s, struct why_operand *o)
{
	for (size_t k = 0; k < s->n; k++) {
		const struct why_operand *known = s->v[k];

		if (!same_place(&known->l, &o->l) || known->set != o->set || memcmp(known->value, o->value, 8) ||
		    (o->set && !timeline_point_same(&known->setter, &o->setter)))
			continue;
		why_operand_fini(o);
		free(o);
		return;
	}
	if (s->n == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 4;
		s->v = xreallocarray(s->v, s->cap, sizeof(struct why_operand *));
	}
	s->v[s->n++] = o;
}

void why_queue(struct why *w, struct why_operand *o)
{
	if (w->queued == w->queue_cap) {
		w->queue_cap = w->queue_cap ? w->queue_cap * 2 : 16;
		w->queue = xreallocarray(w->queue, w->queue_cap, sizeof(struct why_operand *));
	}
	w->queue[w->queued++] = o;
}

bool why_know(struct why *w, struct why_step **s)
{
	for (size_t k = 0; k < w->n; k++) {
		if (!timeline_point_same(&w->steps[k]->at, &(*s)->at) || !same_place(&w->steps[k]->l, &(*s)->l))
			continue;
		step_free(*s);
		*s = w->steps[k];
		return true;
	}
	if (w->n == w->cap) {
		w->cap = w->cap ? w->cap * 2 : 16;
		w->steps = xreallocarray(w->steps, w->cap, sizeof(struct why_step *));
	}
	w->steps[w->n++] = *s;
	return false;
}

void why_take_end(struct why *w, enum chain_end *end, char **text)
{
	free(*text);
	*end = w->x.end ? w->x.end : END_UNKNOWN;
	*text = w->x.end_text ? steal_ptr(&w->x.end_text) : xstrdup("nothing more is known");
	w->x.end = END_OPEN;
}

void why_set_end(enum chain_end *end, char **text, enum chain_end why, const char *fmt, ...)
{
	va_list ap;

	free(*text);
	*end = why;
	va_start(ap, fmt);
	*text = str_vfmt(fmt, ap);
	va_end(ap);
}
