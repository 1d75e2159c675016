/* SPDX-License-Identifier: MIT */
/* collect.c: see collect.h. */
#include "executed/collect.h"

#include <stdlib.h>

#include "base/str.h"
#include "rlog/replay.h"

static size_t read_code(void *ctx, uint64_t pc, uint8_t *code, size_t n)
{
	struct collect *c = ctx;

	return trace_read_some(c->i->t->pid, pc, code, n);
}

static bool never_returns(void *ctx, uint64_t slot)
{
	struct collect *c = ctx;

	return imports_find(&c->imports, c->i->t->pid, slot) >= 0;
}

void collect_init(struct collect *c, struct instrument *i, bool control)
{
	static const struct returning_ops ops = {read_code, never_returns};

	*c = (struct collect){.i = i, .last = xcalloc(RLOG_MAX_THREADS, sizeof(*c->last))};
	imports_init(&c->imports, returning_never, returning_nnever);
	if (control)
		c->control = control_new(&ops, c);
}

void collect_fini(struct collect *c)
{
	slice_fini(&c->slice);
	control_free(c->control);
	imports_fini(&c->imports);
	free(c->pcs);
	free(c->last);
}

static uint32_t number_of(struct collect *c, struct instrument_insn *x)
{
	uint8_t code[INSN_BYTES];
	struct insn_regs regs;
	size_t n;
	uint32_t id;

	if (x->mark)
		return x->mark - 1;
	n = read_code(c, x->pc, code, sizeof(code));
	insn_regs(code, n, &regs);
	id = slice_add_insn(&c->slice, &regs);
	if (id >= c->pcs_cap) {
		c->pcs_cap = c->slice.insns_cap;
		c->pcs = xreallocarray(c->pcs, c->pcs_cap, sizeof(*c->pcs));
	}
	c->pcs[id] = x->pc;
	x->mark = id + 1;
	return id;
}

/* Has a call of the recorder, which is not reported, returned between the thread's last instruction and this one? */
static void see_return(struct collect *c, uint64_t sp)
{
	const struct collect_last *l = &c->last[c->i->thread];
	const struct slice_done d = {.insn = SLICE_RETURNED, .thread = (uint16_t)c->i->thread};
	const struct insn_regs *r;

	if (!l->sp)
		return;
	r = &c->slice.insns[l->insn];
	if ((r->call && sp == l->sp) || (r->jump && sp == l->sp + 8))
		slice_add(&c->slice, &d);
}

/* The address that a `leave` has read is known from the stack pointer after it. */
void collect_before(struct collect *c, uint64_t sp)
{
	const struct slice_done *d = c->slice.n ? &c->slice.done[c->slice.n - 1] : NULL;

	if (d && slice_is_insn(d) && d->thread == c->i->thread && c->slice.insns[d->insn].leave)
		slice_add_access(&c->slice, sp - 8, 8, true, false);
}

void collect_insn(struct collect *c, struct instrument_insn *x, uint64_t sp)
{
	uint32_t id = number_of(c, x), thread = c->i->thread;
	const struct insn_regs *r = &c->slice.insns[id];
	const struct slice_done d = {.insn = id,
				     .event = (uint32_t)(c->i->event - c->first_event),
				     .hits = (uint32_t)x->hits,
				     .thread = (uint16_t)thread};

	see_return(c, sp);
	slice_add(&c->slice, &d);
	if (c->control)
		slice_add_control(&c->slice, control_see(c->control, thread, x->pc, sp, (uint32_t)c->slice.n - 1));
	if (r->push)
		slice_add_access(&c->slice, sp - 8, 8, false, true);
	if (r->pop)
		slice_add_access(&c->slice, sp, 8, true, false);
	c->last[thread] = (struct collect_last){id, sp};
}

void collect_access(struct collect *c, const struct instrument_access *a)
{
	slice_add_access(&c->slice, a->addr, a->len, a->reads, a->writes);
}

void collect_outside(struct collect *c, uint64_t addr, uint64_t len)
{
	const struct slice_done d = {.insn = SLICE_OUTSIDE, .thread = (uint16_t)c->i->thread};

	slice_add(&c->slice, &d);
	slice_add_access(&c->slice, addr, len, false, true);
}

struct timeline_point collect_point(const struct collect *c, const struct slice_done *d)
{
	uint64_t pc = c->pcs[d->insn];

	return (struct timeline_point){c->first_event + d->event, visibility_is_certain(&c->i->visibility, pc) ? pc : 0,
				       d->hits};
}
