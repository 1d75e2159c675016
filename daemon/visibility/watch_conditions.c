/* SPDX-License-Identifier: MIT */
/* watch_conditions.c: see watch_conditions.h. */
#include "visibility/watch_conditions.h"

#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/str.h"

void watch_conditions_fini(struct watch_conditions *c)
{
	for (unsigned i = 0; i < c->n; i++)
		conds_fini(&c->v[i].conds);
	free(c->v);
	*c = (struct watch_conditions){0};
}

static struct watch_condition *find(struct watch_conditions *c, uint64_t addr, unsigned len)
{
	for (unsigned i = 0; c && i < c->n; i++)
		if (c->v[i].addr == addr && c->v[i].len == len)
			return &c->v[i];
	return NULL;
}

void watch_conditions_add(struct watch_conditions *c, uint64_t addr, unsigned len, const uint8_t *code, size_t n)
{
	struct watch_condition *w = find(c, addr, len);

	if (!w) {
		c->v = xreallocarray(c->v, c->n + 1, sizeof(c->v[0]));
		w = &c->v[c->n++];
		*w = (struct watch_condition){.addr = addr, .len = len};
	}
	conds_add(&w->conds, code, n);
}

struct watch_condition *watch_conditions_find(struct watch_conditions *c, const struct group_slot *s)
{
	return s->kind == GROUP_WRITE ? find(c, s->addr, s->len) : NULL;
}

bool watch_conditions_share(const struct watch_condition *a, const struct watch_condition *b)
{
	for (unsigned i = 0; i < a->conds.n; i++)
		for (unsigned k = 0; k < b->conds.n; k++) {
			const struct cond *x = &a->conds.v[i], *y = &b->conds.v[k];

			if (x->len == y->len && !memcmp(x->code, y->code, x->len))
				return true;
		}
	return false;
}

/* A program whose watched word has this value. */
struct state {
	const struct watch_condition *of;
	const uint8_t *word;
	pid_t pid; /* 0: nothing is known but the word */
	bool unknown; /* something else was read */
	struct watch_reads reads;
};

/* What is read is noted, and no more than can be: else the condition is not evaluated. */
static int read_mem(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct state *s = ctx;
	uint64_t at = addr - s->of->addr;
	struct err ignored;

	s->unknown |= !s->pid && (addr + len <= s->of->addr || addr >= s->of->addr + s->of->len);
	if (s->reads.n == WATCH_READS_MAX || len > 8)
		return -1;
	if (addr >= s->of->addr && at + len <= s->of->len)
		memcpy(out, s->word + at, len);
	else if (addr + len > s->of->addr && addr < s->of->addr + s->of->len)
		return -1;
	else if (!s->pid || trace_read(s->pid, addr, out, len, &ignored))
		return -1;
	s->reads.v[s->reads.n].addr = addr;
	s->reads.v[s->reads.n].len = (unsigned)len;
	memcpy(s->reads.v[s->reads.n++].v, out, len);
	return 0;
}

static bool any_is_true(const struct conds *c, const struct agent_ops *ops, void *ctx)
{
	for (unsigned i = 0; i < c->n; i++) {
		struct agent_result r;

		if (agent_run(c->v[i].code, c->v[i].len, ops, ctx, &r) != AGENT_OK || r.value)
			return true;
	}
	return false;
}

static bool is_true(struct state *s)
{
	static const struct agent_ops ops = {.read_mem = read_mem};

	return any_is_true(&s->of->conds, &ops, s);
}

bool watch_condition_is_true_of(const struct watch_condition *c, pid_t pid, const uint8_t v[8])
{
	struct state s = {.of = c, .word = v, .pid = pid};

	return is_true(&s);
}

static int read_known(void *ctx, uint64_t addr, void *out, size_t len)
{
	const struct watch_reads *known = ctx;

	for (unsigned i = 0; i < known->n; i++) {
		uint64_t at = addr - known->v[i].addr;

		if (at < known->v[i].len && at + len <= known->v[i].len) {
			memcpy(out, known->v[i].v + at, len);
			return 0;
		}
	}
	return -1;
}

bool watch_condition_is_true_in(const struct watch_condition *c, const struct watch_reads *known)
{
	static const struct agent_ops ops = {.read_mem = read_known};

	return any_is_true(&c->conds, &ops, (void *)known);
}

static int read_and_note(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct state *s = ctx;
	struct err ignored;

	if (s->reads.n == WATCH_READS_MAX || len > 8 || trace_read(s->pid, addr, out, len, &ignored))
		return -1;
	s->reads.v[s->reads.n].addr = addr;
	s->reads.v[s->reads.n].len = (unsigned)len;
	memcpy(s->reads.v[s->reads.n++].v, out, len);
	return 0;
}

void watch_condition_reads(const struct watch_condition *c, pid_t pid, struct watch_reads *r)
{
	static const struct agent_ops ops = {.read_mem = read_and_note};
	struct state s = {.of = c, .pid = pid};

	any_is_true(&c->conds, &ops, &s);
	*r = s.reads;
}

bool watch_conditions_hold(struct watch_conditions *c, const struct group_slot *s, pid_t pid, const uint8_t was[8],
			   const uint8_t now[8])
{
	struct watch_condition *w = watch_conditions_find(c, s);
	struct state state = {.of = w, .word = w && c->back ? was : now, .pid = w && c->back ? 0 : pid};

	if (c)
		c->unknown = false;
	if (!w)
		return true;
	if (!is_true(&state)) {
		w->last = state.reads;
		return false;
	}
	c->unknown = state.unknown;
	memcpy(w->other, c->back ? now : was, sizeof(w->other));
	return true;
}
