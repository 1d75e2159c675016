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
	w->registers = conds_read_registers(&w->conds);
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

#define NEAR 64u /* how many bytes an instruction may write: the largest register */

/* A program in whose watched word is this value. */
struct state {
	const struct watch_condition *of;
	const uint8_t *word;
	pid_t pid; /* 0: only the word is known */
	const struct user_regs_struct *regs; /* NULL: not known */
	bool before; /* memory is as it was before the write: it is only known if it is not near the word */
	bool unknown; /* something unknown was read */
	struct watch_reads reads;
};

static int read_reg(void *ctx, unsigned regno, uint64_t *value)
{
	const struct state *s = ctx;

	return s->regs ? conds_register(s->regs, regno, value) : -1;
}

/* Notes what is read. If it is too much, the condition is not evaluated. */
static int note_read(struct state *s, uint64_t addr, const void *v, size_t len)
{
	if (s->reads.n == WATCH_READS_MAX)
		return -1;
	s->reads.v[s->reads.n].addr = addr;
	s->reads.v[s->reads.n].len = (unsigned)len;
	memcpy(s->reads.v[s->reads.n++].v, v, len);
	return 0;
}

static int read_mem(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct state *s = ctx;
	uint64_t at = addr - s->of->addr;
	struct err ignored;

	s->unknown |= !s->pid && (addr + len <= s->of->addr || addr >= s->of->addr + s->of->len);
	if (len > 8)
		return -1;
	if (addr >= s->of->addr && at + len <= s->of->len)
		memcpy(out, s->word + at, len);
	else if (addr + len > s->of->addr && addr < s->of->addr + s->of->len)
		return -1;
	else if (s->before && addr + len + NEAR > s->of->addr && addr < s->of->addr + s->of->len + NEAR)
		return -1;
	else if (!s->pid || trace_read(s->pid, addr, out, len, &ignored))
		return -1;
	return note_read(s, addr, out, len);
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
	static const struct agent_ops ops = {.read_mem = read_mem, .read_reg = read_reg};

	return any_is_true(&s->of->conds, &ops, s);
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

	if (len > 8 || trace_read(s->pid, addr, out, len, &ignored))
		return -1;
	return note_read(s, addr, out, len);
}

void watch_condition_reads(const struct watch_condition *c, pid_t pid, const struct user_regs_struct *regs,
			   struct watch_reads *r)
{
	static const struct agent_ops ops = {.read_mem = read_and_note, .read_reg = read_reg};
	struct state s = {.of = c, .pid = pid, .regs = regs};

	any_is_true(&c->conds, &ops, &s);
	*r = s.reads;
}

struct covered {
	struct state s;
	const struct watch_reads *over;
};

void watch_reads_cover(const struct watch_reads *r, uint64_t addr, void *data, size_t len)
{
	for (unsigned i = 0; i < r->n; i++)
		for (unsigned k = 0; k < r->v[i].len; k++)
			if (r->v[i].addr + k - addr < len)
				((uint8_t *)data)[r->v[i].addr + k - addr] = r->v[i].v[k];
}

static int read_covered(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct covered *c = ctx;
	struct err ignored;

	if (read_known((void *)c->over, addr, out, len) && trace_read(c->s.pid, addr, out, len, &ignored))
		return -1;
	watch_reads_cover(c->over, addr, out, len);
	return 0;
}

bool watch_condition_is_true_over(const struct watch_condition *c, pid_t pid, const struct user_regs_struct *regs,
				  const struct watch_reads *over)
{
	static const struct agent_ops ops = {.read_mem = read_covered, .read_reg = read_reg};
	struct covered s = {.s = {.of = c, .pid = pid, .regs = regs}, .over = over};

	return any_is_true(&c->conds, &ops, &s);
}

/*
 * Evaluates it in the states before and after the instruction that has changed the word. The PC shows whether this is
 * the code for which the condition was compiled.
 */
static bool is_true_by_registers(struct state *s, struct trace *t, bool back)
{
	struct user_regs_struct regs;
	struct err ignored;

	if (trace_get_regs(t, &regs, &ignored))
		return true;
	s->pid = t->pid;
	s->regs = &regs;
	s->before = back;
	if (is_true(s))
		return true;
	if (!back)
		return false;
	s->reads.n = 0;
	regs.rip--; /* into that instruction */
	return is_true(s);
}

bool watch_conditions_hold(struct watch_conditions *c, const struct group_slot *s, struct trace *t,
			   const uint8_t was[8], const uint8_t now[8])
{
	struct watch_condition *w = watch_conditions_find(c, s);
	struct state state = {.of = w, .word = w && c->back ? was : now, .pid = w && c->back ? 0 : t->pid};
	bool is;

	if (c)
		c->unknown = false;
	if (!w)
		return true;
	is = w->registers ? is_true_by_registers(&state, t, c->back) : is_true(&state);
	state.regs = NULL;
	if (!is) {
		w->last = state.reads;
		return false;
	}
	c->unknown = state.unknown;
	memcpy(w->other, c->back ? now : was, sizeof(w->other));
	return true;
}
