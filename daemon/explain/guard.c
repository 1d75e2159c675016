/* SPDX-License-Identifier: MIT */
/*
 * guard.c: a write went past the end of an array or of a block. Did the program compare the index, or the pointer, with
 * a bound before it, and find that it was in it? Then that bound is what is wrong. The branches in front of the write
 * are gone through backwards; one is it if it compares exactly the index, or the address, that the write used.
 */
#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "chain/condition.h"
#include "explain/failure.h"
#include "flow/flow_int.h"
#include "insn/flow.h"
#include "timetravel/cursor_int.h"

#define BRANCHES 16u /* in front of the write */
#define GUARD_WORK 10000u

/* A conditional branch that an order decides, not equality. */
static bool is_by_order(const struct insn *i)
{
	unsigned code = i->n && i->code[0] == 0x0f && i->n > 1 ? i->code[1] - 0x80u : i->n ? i->code[0] - 0x70u : 0;

	return code == 0x2 || code == 0x3 || code == 0x6 || code == 0x7 || (code >= 0xc && code <= 0xf);
}

/* Is v an index, from 2 on, by which elements of a usual size begin at `away` bytes? */
static bool is_index_of(uint64_t v, uint64_t away)
{
	uint64_t size = v > 1 && v <= away && away % v == 0 ? away / v : 0;

	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* The two values that the instruction compares, which sets flags alone. */
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
 * It stands at a comparison. write: the address written to. Does it say of the index, or the address, that it is within
 * a bound?
 */
static bool lets_through(struct explain *x, uint64_t write, bool by_order, uint64_t *value, struct err *e)
{
	const struct explain_overrun *o = &x->overrun;
	struct insn_loc flags = {.where = INSN_IN_REG, .reg = INSN_FLAGS, .len = 8};
	struct user_regs_struct r;
	struct insn_origin origin;
	uint8_t code[INSN_BYTES];
	struct insn i;
	uint64_t v[2];

	if (explain_regs(x, x->t.in.seg.tid, &r, e) || explain_insn(x, &r, code, &i, e))
		return false;
	insn_origin(&i, &flags, &origin);
	if (!values_compared(x, &r, &i, &origin, v))
		return false;
	for (unsigned k = 0; k < 2; k++) {
		if (v[k] == write && v[!k] >= write && v[!k] - o->lo <= 2 * o->len) { /* else it is another one's end */
			*value = write;
			return true;
		}
		if (by_order && is_index_of(v[k], write - o->lo) && v[!k] >= v[k] && v[!k] <= INT_MAX) {
			*value = v[k];
			return true;
		}
	}
	return false;
}

/* It stands at the write: the address in the array's own terms. 0: none. */
static uint64_t address_written(struct explain *x, struct err *e)
{
	struct insn_access v[INSN_ACCESSES];
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct insn i;
	unsigned n;

	if (explain_regs(x, x->t.in.seg.tid, &r, e) || visibility_is_shim(&x->t.visibility, r.rip) ||
	    !visibility_is_certain(&x->t.visibility, r.rip) || explain_insn(x, &r, code, &i, e))
		return 0;
	n = insn_accesses(&i, v);
	for (unsigned k = 0; k < n; k++)
		if (v[k].writes && !v[k].stack && v[k].len <= 8 && v[k].addr >= x->overrun.lo)
			return v[k].addr;
	return 0;
}

/* Back to such a comparison: 0, and the program stands at its branch; 1: there is none; -1. */
static int to_guard(struct explain *x, uint64_t write, uint64_t *value, struct err *e)
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
		if (got < 0)
			return -1;
		if (!got && lets_through(x, write, by_order, value, e))
			return 0;
		if (cursor_goto_point(&x->t, &branch, e))
			return -1;
	}
	return 1;
}

static int search(struct explain *x, struct err *e)
{
	const struct explain_overrun *o = &x->overrun;
	struct inspect p = {0};
	uint64_t write, value = 0;
	int r;

	if (cursor_goto_point(&x->t, &o->at, e))
		return -1;
	write = address_written(x, e);
	r = write ? to_guard(x, write, &value, e) : 1;
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

	if (!x->overrun.at.pc || end != END_COMPUTED)
		return 0;
	explain_reopen(x);
	explain_limit(x, GUARD_WORK);
	r = search(x, e);
	x->until = until;
	if (r < 0 && !explain_may_go_on(x, e))
		return -1;
	if (r || x->chain.n == before) {
		chain_cut(&x->chain, before);
		explain_end_instead(x, end, "%s", text ? text : "?");
	} else {
		explain_end_instead(x, END_COMPUTED, "the bound is not that of what was written to");
	}
	return 0;
}
