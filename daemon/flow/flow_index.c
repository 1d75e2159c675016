/* SPDX-License-Identifier: MIT */
/*
 * flow_index.c: a value was read from memory that was never written: an element of an array, or memory outside all
 * blocks of the heap. Its contents explain nothing: the index, or the pointer, leads to the wrong place.
 */
#include "flow/flow_int.h"

#include <string.h>

#include "base/maps.h"
#include "timetravel/cursor_int.h"

static bool is_mapped(struct flow *f, uint64_t addr)
{
	struct mapping m;

	return maps_find(cursor_memory(&f->x->t), addr, &m) && (m.read || m.write);
}

/* Which register of the operand is the index. false: none. */
static bool index_of(struct flow *f, const struct user_regs_struct *r, const struct insn_access *a, struct insn_loc *l)
{
	unsigned reg = a->index;
	uint64_t base = a->base == INSN_NO_REG ? (uint64_t)a->disp : insn_reg(r, a->base);

	if (reg == INSN_NO_REG)
		return false;
	if (a->scale == 1 && !is_mapped(f, base)) /* compilers put either of them first */
		reg = a->base;
	if (reg == INSN_NO_REG || is_mapped(f, insn_reg(r, reg)))
		return false;
	*l = (struct insn_loc){.where = INSN_IN_REG, .reg = reg, .len = 8};
	return true;
}

/*
 * The operand has one register, which may be the sum of the array's address and the index: goes to the instruction that
 * added them. 0: *l is the index there, *r its registers; 1: it is not so; -1.
 */
static int to_sum(struct flow *f, unsigned base, struct user_regs_struct *r, struct insn_loc *l, struct err *e)
{
	struct flow one = {.x = f->x,
			   .tid = f->tid,
			   .l = {.where = INSN_IN_REG, .reg = base, .len = 8},
			   .pointer = true,
			   .trial = true};
	const struct insn_loc *index = NULL;
	struct flow_setter s;
	int got;

	if (base == INSN_NO_REG || base == INSN_RBP || base == INSN_RSP || !flow_read(f->x, r, &one.l, one.value))
		return 1;
	flow_setter_begin(&s);
	got = flow_to_setter(&one, &s, e);
	explain_reopen(f->x);
	if (got < 0)
		return -1;
	if (got == SETTER_INSN && s.origin.effect == INSN_COMPUTES)
		index = flow_wrong_one(&one, &s.regs, &s.origin);
	if (!index)
		return 1;
	*l = *index;
	*r = s.regs;
	return 0;
}

bool flow_is_indexed(struct flow *f)
{
	struct user_regs_struct r;
	struct insn_access a;
	struct insn_loc l;
	struct err ignored;

	return !explain_regs(f->x, f->tid, &r, &ignored) && flow_access(f, &r, false, &a) && index_of(f, &r, &a, &l);
}

int flow_turn_to_index(struct flow *f, const struct timeline_point *at, const char *name, struct err *e)
{
	struct explain *x = f->x;
	struct user_regs_struct r;
	struct insn_access a;
	struct insn_loc l;
	uint8_t value[8];
	int got = 1;

	if (f->trial || !at->pc)
		return FLOW_ON;
	if (cursor_goto_point(&x->t, at, e) || explain_regs(x, f->tid, &r, e))
		return -1;
	if (!flow_access(f, &r, false, &a))
		return FLOW_ON;
	if (index_of(f, &r, &a, &l))
		got = 0;
	else if (a.index == INSN_NO_REG)
		got = to_sum(f, a.base, &r, &l, e);
	if (got < 0)
		return -1;
	if (got || !flow_read(x, &r, &l, value))
		return cursor_goto_point(&x->t, at, e) ? -1 : FLOW_ON;
	explain_note(x, "nothing ever wrote to %s: from there on the chain follows the index with which it was read",
		     name);
	f->l = l;
	memcpy(f->value, value, sizeof(value));
	f->pointer = f->number = true;
	f->derived = f->compared = f->read_as_pointer = false;
	f->last = 0;
	return FLOW_TURNED;
}

/* Is it in an arena of the heap, but in no block? */
static bool is_between_blocks(struct explain *x, uint64_t addr)
{
	struct object o;

	return flow_is_heap(addr) && !(inspect_block(cursor_memory(&x->t), addr, &o) && addr < o.lo + o.len);
}

int flow_turn_to_pointer(struct flow *f, const struct timeline_point *at, const char *name, struct err *e)
{
	struct explain *x = f->x;
	struct user_regs_struct r;
	struct insn_access a;
	struct insn_loc l = {.where = INSN_IN_REG, .len = 8};
	uint8_t value[8];

	if (f->trial || !at->pc || !is_between_blocks(x, f->l.addr))
		return FLOW_ON;
	if (cursor_goto_point(&x->t, at, e) || explain_regs(x, f->tid, &r, e))
		return -1;
	if (!flow_access(f, &r, true, &a))
		return FLOW_ON;
	l.reg = a.base;
	if (!flow_read(x, &r, &l, value))
		return FLOW_ON;
	explain_note(
		x, "%s is in no block of the heap: from there on the chain follows the pointer with which it was read",
		name);
	f->l = l;
	memcpy(f->value, value, sizeof(value));
	f->pointer = f->derived = true;
	f->number = f->compared = f->read_as_pointer = false;
	f->last = 0;
	return FLOW_TURNED;
}
