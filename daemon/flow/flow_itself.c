/* SPDX-License-Identifier: MIT */
/* flow_itself.c: a comparison of a value with an earlier one of the same memory: see flow.h. */
#include "flow/flow_int.h"
#include "timetravel/cursor_int.h"

/* Where in memory, not on a stack, the value of an operand was read; len 0: nowhere, or it was computed. Moves. -1: it
 * failed. */
static int read_where(struct explain *x, pid_t tid, const struct insn_loc *from, struct insn_loc *where, struct err *e)
{
	struct flow one = {.x = x, .tid = tid, .l = *from, .trial = true, .to_memory = true};
	size_t before = x->chain.n;
	struct user_regs_struct r;

	where->len = 0;
	for (unsigned n = 0; n < FLOW_NEAR_STEPS; n++) {
		struct insn_origin o;
		uint8_t code[INSN_BYTES];
		struct insn i;
		bool ignored;
		int got;

		if (explain_regs(x, one.tid, &r, e))
			return -1;
		if (!flow_read(x, &r, &one.l, one.value))
			return 0;
		if (x->ways->flow_on(&one, e))
			return -1;
		explain_cut(x, before);
		explain_reopen(x);
		if (one.l.where != INSN_IN_MEM)
			return 0;
		if (!flow_is_stack(x, one.l.addr)) {
			*where = one.l;
			return 0;
		}
		got = flow_last_write(x, one.l.addr, one.l.len, 0, &ignored, e);
		explain_reopen(x);
		if (got || x->t.in.seg.tid != cursor_now(&x->t, one.tid))
			return got < 0 ? -1 : 0;
		if (explain_regs(x, one.tid, &r, e) || visibility_is_shim(&x->t.visibility, r.rip) ||
		    explain_insn(x, &r, code, &i, e))
			return 0;
		insn_origin(&i, &one.l, &o);
		if (o.effect != INSN_COPIES)
			return 0;
		one.l = o.from[0];
	}
	return 0;
}

/*
 * Were the two values read, in or before the state `at`, from the same memory, with no write of it in between? Then
 * *place is that. 1; 0: no, or that is not known; -1. Moves.
 */
static int are_of_one_place(struct explain *x, pid_t tid, const struct timeline_point *at,
			    const struct insn_loc from[2], struct insn_loc *place, struct err *e)
{
	struct timeline_point written[2] = {0};
	struct insn_loc l[2] = {0};

	for (unsigned k = 0; k < 2; k++) {
		bool ignored;
		int r;

		if (cursor_goto_point(&x->t, at, e) || read_where(x, tid, &from[k], &l[k], e))
			return -1;
		r = l[k].len ? flow_last_write(x, l[k].addr, l[k].len, 0, &ignored, e) : 2;
		explain_reopen(x);
		if (r < 0 || r == 2)
			return r < 0 ? -1 : 0;
		if (!r && cursor_where(&x->t, &written[k], e))
			return -1;
		if (!r && !written[k].pc)
			return 0;
	}
	*place = l[0];
	return l[0].addr == l[1].addr && timeline_point_same(&written[0], &written[1]);
}

int flow_compares_with_itself(struct explain *x, pid_t tid, struct insn_loc *place, struct err *e)
{
	struct timeline_point at;
	struct insn_origin o;
	int r = flow_to_comparison(x, tid, &o, e);

	if (r || o.n != 2)
		return r < 0 ? -1 : 0;
	if (cursor_where(&x->t, &at, e))
		return -1;
	return are_of_one_place(x, tid, &at, o.from, place, e);
}

/* ---- a comparison that is still to come ---- */

/* What the registers will hold after a call, as far as the instructions that follow it tell. */
struct after_call {
	bool lost[INSN_XMM0]; /* not known */
	struct insn_loc from[INSN_XMM0]; /* the memory it is loaded from; len 0: none, it keeps its value at the call */
};

static bool is_kept(const struct after_call *a, unsigned reg)
{
	return reg == INSN_NO_REG || (reg < INSN_XMM0 && !a->lost[reg] && !a->from[reg].len);
}

/* Where will the operand have come from? false: that is not known. */
static bool look_ahead(const struct after_call *a, const struct insn *i, const struct insn_loc *l,
		       struct insn_loc *from)
{
	struct insn_access v[INSN_ACCESSES];
	unsigned n;

	*from = *l;
	if (l->where == INSN_IN_REG) {
		if (l->reg >= INSN_XMM0 || a->lost[l->reg])
			return false;
		if (a->from[l->reg].len)
			*from = a->from[l->reg];
		return from->len == l->len;
	}
	n = insn_accesses(i, v);
	for (unsigned k = 0; l->where == INSN_IN_MEM && k < n; k++)
		if (v[k].addr == l->addr && !v[k].writes)
			return is_kept(a, v[k].base) && is_kept(a, v[k].index);
	return false;
}

/* Notes what the instruction, which will be executed, does to the registers. */
static void pass(struct after_call *a, const struct insn *i)
{
	struct insn_regs regs;

	insn_regs(i->code, i->n, &regs);
	for (unsigned reg = 0; reg < INSN_XMM0; reg++) {
		struct insn_loc l = {.where = INSN_IN_REG, .reg = reg, .len = 4}, from;
		struct insn_origin o;

		if (!(regs.writes >> reg & 1))
			continue;
		insn_origin(i, &l, &o);
		a->lost[reg] = o.effect != INSN_COPIES || o.from[0].where != INSN_IN_MEM ||
			       !look_ahead(a, i, &o.from[0], &from);
		a->from[reg] = a->lost[reg] ? (struct insn_loc){0} : from;
	}
}

/* The two values that the first branch after the call at r->rip will compare. false: that is not known. */
static bool compares_next(struct explain *x, const struct user_regs_struct *r, struct insn_loc from[2])
{
	struct insn_loc flags = {.where = INSN_IN_REG, .reg = INSN_FLAGS, .len = 8};
	struct user_regs_struct at = *r;
	struct after_call a = {0};
	bool known = false;

	for (unsigned reg = 0; reg < INSN_XMM0; reg++)
		a.lost[reg] = !flow_calls_keep(reg);
	for (unsigned n = 0; n < FLOW_NEAR_STEPS; n++) {
		uint8_t code[INSN_BYTES];
		struct insn_origin o;
		enum insn_kind kind;
		struct err ignored;
		struct insn i;

		if (explain_insn(x, &at, code, &i, &ignored))
			return false;
		kind = insn_kind(&i);
		if (kind == INSN_BRANCH)
			return known;
		if (kind != (n ? INSN_OTHER : INSN_CALL))
			return false;
		insn_origin(&i, &flags, &o);
		if (n && o.effect != INSN_KEEPS)
			known = o.n == 2 && look_ahead(&a, &i, &o.from[0], &from[0]) &&
				look_ahead(&a, &i, &o.from[1], &from[1]);
		if (n)
			pass(&a, &i);
		at.rip += insn_len(&i);
	}
	return false;
}

int flow_will_compare_with_itself(struct explain *x, pid_t tid, struct insn_loc *place, struct err *e)
{
	struct user_regs_struct r;
	struct timeline_point at;
	struct insn_loc from[2];

	if (explain_regs(x, tid, &r, e) || cursor_where(&x->t, &at, e))
		return -1;
	if (!at.pc || !compares_next(x, &r, from))
		return 0;
	return are_of_one_place(x, tid, &at, from, place, e);
}
