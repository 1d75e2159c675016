/* SPDX-License-Identifier: MIT */
/*
 * guard.c: a write went past the end of an array or of a block. Did the program compare the index, or the pointer, with
 * a bound before, and find that it was in range? Then that bound is wrong. The branches before the write are examined
 * backwards. One counts only if it compares the very address that the write used, or the index from which the address
 * was computed; an equal number may be another variable's.
 */
#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "chain/condition.h"
#include "explain/failure.h"
#include "explain/small_block.h"
#include "flow/flow_int.h"
#include "insn/flow.h"
#include "timetravel/cursor_int.h"

#define BRANCHES 16u /* in front of the write */
#define GUARD_WORK 10000u
#define USE_STEPS 300u /* instructions from the write back to the comparison */
#define COPY_STEPS 8u /* from the comparison back to where a value was loaded */
#define PLACES 16u

/* The write that went past the end, in terms of the array. */
struct write {
	uint64_t addr; /* 0: not known */
	unsigned len;
	unsigned base, index; /* registers of the operand; INSN_NO_REG: none */
};

/* A conditional branch that depends on an order, not on equality. */
static bool is_by_order(const struct insn *i)
{
	unsigned code = i->n && i->code[0] == 0x0f && i->n > 1 ? i->code[1] - 0x80u : i->n ? i->code[0] - 0x70u : 0;

	return code == 0x2 || code == 0x3 || code == 0x6 || code == 0x7 || (code >= 0xc && code <= 0xf);
}

/* Where a value is, and what it was made of, at one time. */
struct value_places {
	struct insn_loc v[PLACES];
	unsigned n;
};

static bool has_place(const struct value_places *p, const struct insn_loc *l)
{
	for (unsigned k = 0; k < p->n; k++) {
		const struct insn_loc *o = &p->v[k];

		if (o->where != l->where)
			continue;
		if (l->where == INSN_IN_REG ? o->reg == l->reg
					    : o->addr < l->addr + l->len && l->addr < o->addr + o->len)
			return true;
	}
	return false;
}

static void add_place(struct value_places *p, const struct insn_loc *l)
{
	if (p->n < PLACES && l->where != INSN_NOWHERE && !has_place(p, l))
		p->v[p->n++] = *l;
}

static void add_register(struct value_places *p, unsigned reg)
{
	struct insn_loc l = {.where = INSN_IN_REG, .reg = reg, .len = 8};

	if (reg != INSN_NO_REG)
		add_place(p, &l);
}

/* Converts the places to those before the instruction. */
static void places_before(struct value_places *p, const struct insn *i)
{
	struct value_places before = {.n = 0};

	for (unsigned k = 0; k < p->n; k++) {
		struct insn_origin o;

		insn_origin(i, &p->v[k], &o);
		if (o.effect == INSN_KEEPS)
			add_place(&before, &p->v[k]);
		else
			for (unsigned j = 0; j < o.n; j++)
				add_place(&before, &o.from[j]);
	}
	*p = before;
}

/* Drops the registers that a called function may have set. */
static void keep_over_call(struct value_places *p)
{
	unsigned n = 0;

	for (unsigned k = 0; k < p->n; k++)
		if (p->v[k].where != INSN_IN_REG || flow_calls_keep(p->v[k].reg))
			p->v[n++] = p->v[k];
	p->n = n;
}

#define IN_RECORDER 2
/* One instruction back. 0; 1: not possible; IN_RECORDER: that was a function of the recorder's; -1. */
static int back(struct explain *x, struct user_regs_struct *r, uint8_t *code, struct insn *i, struct err *e)
{
	struct err ignored;
	struct stop stop;

	if (cursor_back_step(&x->t, x->t.in.seg.tid, &stop, e))
		return -1;
	if (stop.kind != STOP_STEP)
		return 1;
	if (explain_regs(x, x->t.in.seg.tid, r, &ignored))
		return 1;
	return visibility_is_shim(&x->t.visibility, r->rip) ? IN_RECORDER : explain_insn(x, r, code, i, &ignored) != 0;
}

/* The program stands at a comparison of l: the places from which that value was copied. */
static int copied_from(struct explain *x, const struct insn_loc *l, struct value_places *p, struct err *e)
{
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct insn_loc at = *l;
	struct insn i;

	add_place(p, &at);
	for (unsigned n = 0; n < COPY_STEPS; n++) {
		struct insn_origin o;
		int got = back(x, &r, code, &i, e);

		if (got)
			return got < 0 ? -1 : 0;
		insn_origin(&i, &at, &o);
		if (o.effect == INSN_KEEPS)
			continue;
		if (o.effect != INSN_COPIES)
			return 0;
		at = o.from[0];
		add_place(p, &at);
	}
	return 0;
}

/*
 * The program stands at a comparison of l, before and afterwards. Was the address of the write computed from the same
 * value? 0: it was; 1: it was not, or that is not known; -1.
 */
static int is_used(struct explain *x, const struct write *w, const struct insn_loc *l, struct err *e)
{
	struct value_places compared = {.n = 0}, used = {.n = 0};
	struct user_regs_struct then, r;
	struct timeline_point at;
	uint8_t code[INSN_BYTES];
	bool same = false;
	struct insn i;
	int got;

	if (cursor_where(&x->t, &at, e) || explain_regs(x, x->t.in.seg.tid, &then, e) ||
	    copied_from(x, l, &compared, e) || cursor_goto_point(&x->t, &x->overrun.at, e))
		return -1;
	add_register(&used, w->base);
	add_register(&used, w->index);
	for (unsigned n = 0; n < USE_STEPS && used.n; n++) {
		bool ignored;

		got = back(x, &r, code, &i, e);
		if (got == IN_RECORDER) {
			keep_over_call(&used);
			continue;
		}
		if (!got && insn_kind(&i) == INSN_RET) { /* over what was called */
			keep_over_call(&used);
			got = flow_last_write(x, r.rsp, 8, 0, &ignored, e);
			if (!got && (explain_regs(x, x->t.in.seg.tid, &r, e) || explain_insn(x, &r, code, &i, e)))
				got = -1;
		}
		if (got < 0)
			return -1;
		if (got)
			break;
		places_before(&used, &i);
		same = flow_is_same_state(&then, &r);
		if (same)
			break;
	}
	for (unsigned k = 0; same && k < compared.n; k++)
		if (has_place(&used, &compared.v[k]))
			return cursor_goto_point(&x->t, &at, e) ? -1 : 0;
	return cursor_goto_point(&x->t, &at, e) ? -1 : 1;
}

/* The two values that are compared by the instruction, which only sets flags. */
static bool values_compared(struct explain *x, const struct user_regs_struct *r, const struct insn *i,
			    const struct insn_origin *o, uint64_t v[2])
{
	struct insn_flow f;
	uint8_t bytes[8];

	insn_flow(i->code, i->n, &f);
	if (!f.keeps_dst || !f.subtracts || o->n + (f.has_imm ? 1u : 0u) != 2)
		return false;
	for (unsigned k = 0; k < o->n; k++) {
		if (!flow_read(x, r, &o->from[k], bytes))
			return false;
		memcpy(&v[k], bytes, sizeof(v[k]));
	}
	if (f.has_imm)
		v[1] = (uint64_t)f.imm;
	return true;
}

/*
 * The program stands at a comparison. Does it find the index (from 2 on) or the address of the write within a bound? 0:
 * it does; 1: it does not; -1.
 */
static int lets_through(struct explain *x, const struct write *w, bool by_order, uint64_t *value, struct err *e)
{
	const struct explain_overrun *o = &x->overrun;
	struct insn_loc flags = {.where = INSN_IN_REG, .reg = INSN_FLAGS, .len = 8};
	struct user_regs_struct r;
	struct insn_origin origin;
	uint8_t code[INSN_BYTES];
	struct insn i;
	uint64_t v[2];

	if (explain_regs(x, x->t.in.seg.tid, &r, e) || explain_insn(x, &r, code, &i, e))
		return 1;
	insn_origin(&i, &flags, &origin);
	if (!values_compared(x, &r, &i, &origin, v))
		return 1;
	for (unsigned k = 0; k < origin.n; k++) {
		int got = 1;

		*value = v[k];
		/* otherwise it is the end of another object */
		if (v[k] == w->addr && v[!k] >= w->addr && v[!k] - o->lo <= 2 * o->len)
			return 0;
		if (by_order && v[k] > 1 && v[k] * w->len == w->addr - o->lo && v[!k] >= v[k] && v[!k] <= INT_MAX)
			got = is_used(x, w, &origin.from[k], e);
		if (got <= 0)
			return got;
	}
	return 1;
}

/* The program stands at the write. */
static struct write what_is_written(struct explain *x, struct err *e)
{
	struct insn_access v[INSN_ACCESSES];
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct insn i;
	unsigned n;

	if (explain_regs(x, x->t.in.seg.tid, &r, e) || visibility_is_shim(&x->t.visibility, r.rip) ||
	    !visibility_is_certain(&x->t.visibility, r.rip) || explain_insn(x, &r, code, &i, e))
		return (struct write){0};
	n = insn_accesses(&i, v);
	for (unsigned k = 0; k < n; k++)
		if (v[k].writes && !v[k].stack && v[k].len <= 8 && v[k].addr >= x->overrun.lo)
			return (struct write){v[k].addr, v[k].len, v[k].base, v[k].index};
	return (struct write){0};
}

/* Back to such a comparison: 0, and the program stands at it; 1: there is none; -1. */
static int to_guard(struct explain *x, const struct write *w, uint64_t *value, struct err *e)
{
	const struct condition any = {.from = 1, .to = INT_MAX};

	for (unsigned n = 0; n < BRANCHES && !explain_is_over(x); n++) {
		struct timeline_point branch;
		struct user_regs_struct r;
		uint8_t code[INSN_BYTES];
		struct insn_origin o;
		struct insn i;
		bool by_order;
		int got = because_to_branch(x, &any, e);

		if (got)
			return got;
		if (cursor_where(&x->t, &branch, e) || explain_regs(x, x->t.in.seg.tid, &r, e) ||
		    explain_insn(x, &r, code, &i, e))
			return -1;
		by_order = is_by_order(&i);
		got = flow_to_comparison(x, x->t.in.seg.tid, &o, e);
		if (!got)
			got = lets_through(x, w, by_order, value, e);
		if (got <= 0)
			return got;
		if (cursor_goto_point(&x->t, &branch, e))
			return -1;
	}
	return 1;
}

static int search(struct explain *x, struct err *e)
{
	const struct explain_overrun *o = &x->overrun;
	struct inspect p = {0};
	uint64_t value = 0;
	struct write w;
	int r;

	if (cursor_goto_point(&x->t, &o->at, e))
		return -1;
	w = what_is_written(x, e);
	r = w.addr ? to_guard(x, &w, &value, e) : 1;
	if (r)
		return r;
	r = inspect_open(&p, x, e);
	if (!r && json_is_string(json_object_get(p.location, "file")))
		inspect_step(&p, STEP_TEST, NULL, NULL, NULL,
			     "this comparison let 0x%llx through, which is past the end of the %llu bytes",
			     (unsigned long long)value, (unsigned long long)o->len);
	inspect_close(&p);
	return r;
}

int because_of_guard(struct explain *x, struct err *e)
{
	uint64_t until = x->until;
	enum chain_end end = x->end;
	cleanup_free char *text = x->end_text ? xstrdup(x->end_text) : NULL;
	size_t before = x->chain.n;
	int r;

	if (!x->overrun.steps || x->overrun.steps != before || end != END_COMPUTED)
		return 0;
	explain_reopen(x);
	explain_limit(x, GUARD_WORK);
	r = search(x, e);
	if (r > 0) {
		explain_cut(x, before);
		explain_reopen(x);
		explain_limit(x, GUARD_WORK);
		r = because_of_small_block(x, e);
		if (!r) {
			x->until = until;
			return 0;
		}
	}
	x->until = until;
	if (r < 0 && !explain_may_go_on(x, e))
		return -1;
	if (r || x->chain.n == before) {
		explain_cut(x, before);
		explain_end_instead(x, end, "%s", text ? text : "?");
	} else {
		explain_end_instead(x, END_COMPUTED, "the bound is not that of what was written to");
	}
	return 0;
}
