/* SPDX-License-Identifier: MIT */
/* jump.c: a call, a jump or a return to an address without code. */
#include "base/cleanup.h"
#include "base/str.h"
#include "chain/inspect.h"
#include "explain/failure.h"
#include "flow/flow.h"
#include "insn/next.h"
#include "timetravel/cursor_int.h"

#define TABLE_INSNS 4u /* of an entry of a procedure linkage table */

/*
 * The call went to a few instructions that jump on through memory, as a procedure linkage table has them. *l: that
 * memory.
 */
static bool through_table(struct explain *x, const struct user_regs_struct *r, uint64_t target, struct insn_loc *l)
{
	struct user_regs_struct there = *r;
	uint8_t code[INSN_BYTES];
	struct err ignored;
	struct insn i;

	there.rip = target;
	for (unsigned n = 0; n < TABLE_INSNS && !explain_insn(x, &there, code, &i, &ignored) && insn_len(&i); n++) {
		if (insn_kind(&i) == INSN_JUMP)
			return insn_operands(&i, l, 1) && l->where == INSN_IN_MEM;
		if (insn_kind(&i) != INSN_OTHER)
			return false;
		there.rip += insn_len(&i);
	}
	return false;
}

/* The target of a direct call; 0: it is none. */
static uint64_t direct_target(const struct insn *i, uint64_t pc)
{
	struct insn_next next = insn_next(i->code, i->n, pc);

	return next.kind == NEXT_CALL ? next.target : 0;
}

/*
 * The call that returns to ret and that reached `target` with the present registers; if there is none, a direct call,
 * whose function may have jumped on to `target`. Its address; 0: there is none.
 */
static uint64_t call_before(struct explain *x, const struct user_regs_struct *now, uint64_t ret, uint64_t target)
{
	struct user_regs_struct r = *now;
	uint8_t code[INSN_BYTES];
	uint64_t direct = 0;
	struct err ignored;

	r.rsp += sizeof(ret);
	for (unsigned n = 2; n <= 8; n++) {
		struct insn i = {code, n, &r};
		struct insn_loc l;

		r.rip = ret - n;
		if (trace_read(cursor_memory(&x->t), r.rip, code, n, &ignored) || insn_len(&i) != n ||
		    insn_kind(&i) != INSN_CALL)
			continue;
		if (!insn_operands(&i, &l, 1))
			direct = r.rip;
		else if (failure_value(x, &r, &l) == target)
			return r.rip;
	}
	return direct;
}

#define JUMPS_MOST 16u
#define ENTRY_INSNS 1000u /* of a function, in the order of their addresses */

/*
 * Adds the indirect jumps of the function at entry. The function ends with an instruction that does not continue at the
 * next one, if no jump before it goes beyond.
 */
static void add_jumps(struct explain *x, uint64_t entry, struct breaks *b)
{
	struct user_regs_struct r = {.rip = entry};
	uint8_t code[INSN_BYTES];
	uint64_t beyond = 0;
	unsigned jumps = 0;
	struct insn_loc l;
	struct err ignored;
	struct insn i;

	for (unsigned n = 0; n < ENTRY_INSNS && jumps < JUMPS_MOST; n++) {
		struct insn_next next;

		if (explain_insn(x, &r, code, &i, &ignored))
			return;
		next = insn_next(code, i.n, r.rip);
		if (insn_kind(&i) == INSN_JUMP && insn_operands(&i, &l, 1)) {
			breaks_add(b, r.rip, 0);
			jumps++;
		}
		if ((next.kind == NEXT_BRANCH || next.kind == NEXT_JUMP) && next.target > beyond &&
		    next.target - entry < ENTRY_INSNS * INSN_BYTES)
			beyond = next.target;
		r.rip += next.len;
		if (!next.len ||
		    (next.kind != NEXT_FOLLOWS && next.kind != NEXT_CALL && next.kind != NEXT_BRANCH && r.rip > beyond))
			return;
	}
}

/*
 * Where the instruction went at which the program stands: the place of the address, and the address. false: not known.
 */
static bool target_here(struct explain *x, struct insn_loc *l, uint64_t *target)
{
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct err ignored;
	struct insn i;

	if (explain_regs(x, x->t.tid, &r, &ignored) || explain_insn(x, &r, code, &i, &ignored))
		return false;
	*target = direct_target(&i, r.rip);
	if (!insn_operands(&i, l, 1) && !through_table(x, &r, *target, l)) {
		*l = (struct insn_loc){0};
		return *target != 0;
	}
	*target = failure_value(x, &r, l);
	return true;
}

/*
 * Goes to the last of the instructions in b in this segment. 0: there, and it went to `target`; 1: it did not; -1.
 * *went: the address to which it went, else 0.
 */
static int to_one_of(struct explain *x, struct breaks *b, uint64_t target, uint64_t *went, struct insn_loc *l,
		     struct err *e)
{
	uint64_t event = x->t.in.n;
	struct insn_loc at = {0};
	struct stop stop;
	int got = segcur_last_stop(&x->t.in, b, &stop, e);

	*went = 0;
	if (got < 0)
		return -1;
	x->t.tid = x->t.in.seg.tid;
	if (!got && target_here(x, &at, went) && *went == target && at.len) {
		x->no_code = false;
		*l = at;
		return 0;
	}
	return cursor_goto_end(&x->t, event, e) ? -1 : 1;
}

/*
 * Goes to the last call in this segment by the instruction at pc, if that went to `target`, or to the jump to `target`
 * at the end of the function that it called. 0: there; 1: neither did; -1.
 */
static int to_call(struct explain *x, uint64_t pc, uint64_t target, struct insn_loc *l, bool *jump, struct err *e)
{
	struct breaks b = {.view = x->t.breaks.view}, jumps = {.view = x->t.breaks.view};
	uint64_t callee, ignored;
	int got;

	breaks_add(&b, pc, 0);
	got = to_one_of(x, &b, target, &callee, l, e);
	breaks_fini(&b);
	if (got != 1 || !callee)
		return got;
	add_jumps(x, callee, &jumps);
	got = to_one_of(x, &jumps, target, &ignored, l, e);
	*jump = !got;
	breaks_fini(&jumps);
	return got;
}

int failure_jump(struct explain *x, const struct failure_fault *f, struct err *e)
{
	cleanup_free char *addr = str_fmt("0x%llx", (unsigned long long)f->pc);
	struct user_regs_struct r;
	const char *how = "went to";
	struct insn_loc l = {0};
	struct inspect p = {0};
	bool was_jump = false;
	uint64_t call;
	int got = 1;

	str_set(&x->failure.address, "%s", addr);
	if (explain_regs(x, x->tid, &r, e))
		return -1;
	call = x->no_code ? call_before(x, &r, failure_word(x, r.rsp), f->pc) : 0;
	if (call)
		got = to_call(x, call, f->pc, &l, &was_jump, e);
	if (got < 0)
		return -1;
	if (!got) {
		how = was_jump ? "jumped to" : "called a function at";
		if (failure_is_here(x, e))
			return -1;
	} else if (failure_word(x, r.rsp - 8) == f->pc) {
		how = "returned to";
		l = (struct insn_loc){.where = INSN_IN_MEM, .addr = r.rsp - 8, .len = 8};
	}
	failure_set_kind(x, "jump", "the program %s %s, where there is no code", how, addr);
	if (failure_tell(x, &p, e)) {
		inspect_close(&p);
		return -1;
	}
	inspect_close(&p);
	if (!l.len) {
		explain_end(x, END_UNKNOWN, "the instruction that went there is not known");
		return 0;
	}
	if (got) /* a return */
		return failure_overwritten_return(x, l.addr, e);
	return flow_follow(x, x->tid, &l, true, e);
}
