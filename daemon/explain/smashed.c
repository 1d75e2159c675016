/* SPDX-License-Identifier: MIT */
/*
 * smashed.c: what the compiler keeps on a function's stack was overwritten: its canary (gcc's -fstack-protector), or
 * its return address. The search goes back from write to write of that word, to the one by the function's own prologue
 * or call: the write after that is the cause.
 */
#include "base/cleanup.h"
#include "base/str.h"
#include "chain/inspect.h"
#include "explain/failure.h"
#include "flow/flow_int.h"
#include "timetravel/cursor_int.h"

#define CANARY 0x28 /* its place from the FS base (System V ABI, TLS of glibc) */
#define NEAR_STEPS 16u /* from the check of the canary back to its load */
#define WRITES 64u

static const char *const failing[] = {"__stack_chk_fail", NULL};

/* One instruction back in the thread, which becomes *i. 0; 1: there is none; -1. */
static int back_one(struct explain *x, struct user_regs_struct *r, uint8_t *code, struct insn *i, struct err *e)
{
	struct stop stop;

	if (cursor_back_step(&x->t, x->tid, &stop, e))
		return -1;
	if (stop.kind != STOP_STEP)
		return 1;
	return explain_regs(x, x->tid, r, e) || explain_insn(x, r, code, i, e) ? -1 : 0;
}

/* Back to the instruction that made what is at l: *o. As back_one. */
static int to_origin(struct explain *x, const struct insn_loc *l, struct insn_origin *o, struct err *e)
{
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct insn i;

	for (unsigned n = 0; n < NEAR_STEPS; n++) {
		int got = back_one(x, &r, code, &i, e);

		if (got)
			return got;
		insn_origin(&i, l, o);
		if (o->effect != INSN_KEEPS)
			return 0;
	}
	return 1;
}

/*
 * The program stands at the call of __stack_chk_fail: finds where the function has its canary. Two values were
 * compared; the canary is the one that is not, and was not read from, the thread's own. 0; 1: not found; -1.
 */
static int find_canary(struct explain *x, uint64_t *slot, uint64_t *good, struct err *e)
{
	struct insn_loc flags = {.where = INSN_IN_REG, .reg = INSN_FLAGS, .len = 8};
	struct timeline_point at;
	struct user_regs_struct r;
	struct insn_origin o, from;
	int got = to_origin(x, &flags, &o, e);

	if (got)
		return got;
	if (explain_regs(x, x->tid, &r, e) || cursor_where(&x->t, &at, e))
		return -1;
	*good = failure_word(x, r.fs_base + CANARY);
	for (unsigned k = 0; k < o.n; k++) {
		struct insn_loc l = o.from[k];

		if (l.where == INSN_IN_REG) {
			if (cursor_goto_point(&x->t, &at, e))
				return -1;
			got = to_origin(x, &l, &from, e);
			if (got < 0)
				return -1;
			if (got || from.effect != INSN_COPIES)
				continue;
			l = from.from[0];
		}
		if (l.where == INSN_IN_MEM && l.addr != r.fs_base + CANARY) {
			*slot = l.addr;
			return 0;
		}
	}
	return 1;
}

/* Is the next instruction a call? It writes the return address. */
static bool is_call(struct explain *x)
{
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct err ignored;
	struct insn i;

	return !explain_regs(x, x->t.in.seg.tid, &r, &ignored) && !explain_insn(x, &r, code, &i, &ignored) &&
	       insn_kind(&i) == INSN_CALL;
}

/*
 * Goes back to the first write to the slot after the one that was meant for it: the write before which the slot held
 * `good`, or, of a return address (`good` is 0), the first write after that of the call. 0; 1: there is none; -1.
 */
static int to_first_write(struct explain *x, uint64_t slot, uint64_t good, struct err *e)
{
	struct timeline_point first = {0};
	bool ignored;

	for (unsigned n = 0; n < WRITES; n++) {
		int r = flow_last_write(x, slot, 8, 0, &ignored, e);

		if (r < 0)
			return -1;
		if (r || is_call(x))
			break;
		if (cursor_where(&x->t, &first, e))
			return -1;
		if (good && failure_word(x, slot) == good)
			return 0;
	}
	explain_reopen(x);
	return first.pc ? cursor_goto_point(&x->t, &first, e) : 1;
}

/*
 * Finds the name of the object that the instruction at the PC was meant to write to, by its registers. "": it is not
 * known.
 */
static void find_meant(struct explain *x, struct inspect *p, const struct insn_loc *l, struct object *meant)
{
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct err ignored;
	uint64_t base = 0;
	struct insn i;

	*meant = (struct object){0};
	if (!p->to_copy && !explain_regs(x, x->t.in.seg.tid, &r, &ignored) &&
	    !visibility_is_shim(&x->t.visibility, r.rip) && !explain_insn(x, &r, code, &i, &ignored))
		base = flow_base_of_store(&i, l);
	if (!base || !inspect_object(p, base, meant))
		meant->name[0] = '\0';
}

/* Adds a step at the write, which overwrote `what`. */
static int tell_write(struct explain *x, const char *what, uint64_t slot, struct err *e)
{
	cleanup_free char *before = str_fmt("0x%llx", (unsigned long long)failure_word(x, slot));
	struct insn_loc l = {.where = INSN_IN_MEM, .addr = slot, .len = 1};
	struct inspect p = {0};
	struct object meant;
	json_t *location;
	int r = 0;

	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	inspect_step(&p, STEP_WRITE, NULL, before, NULL, "this wrote over %s, at 0x%llx", what,
		     (unsigned long long)slot);
	find_meant(x, &p, &l, &meant);
	location = json_incref(p.location);
	inspect_close(&p);
	if (meant.name[0])
		r = flow_tell_assignment(x, &p.at, location, &l, meant.name, e);
	json_decref(location);
	explain_end(x, END_COMPUTED, "the write was not meant for %s", what);
	x->found = true;
	return r;
}

int failure_overwritten_return(struct explain *x, uint64_t slot, struct err *e)
{
	int r = to_first_write(x, slot, 0, e);

	if (r > 0)
		explain_end(x, END_UNKNOWN, "nothing wrote over the return address at 0x%llx",
			    (unsigned long long)slot);
	return r ? (r < 0 ? -1 : 0) : tell_write(x, "the return address of a function", slot, e);
}

int failure_smashed(struct explain *x, struct err *e)
{
	uint64_t slot, good;
	struct user_regs_struct r;
	struct inspect p = {0};
	bool ignored;
	int got;

	failure_set_kind(x, "smashed-stack", "a function's stack was overwritten (stack smashing detected)");
	got = failure_to_entry(x, failing, e);
	if (got < 0)
		return -1;
	if (failure_is_here(x, e) || explain_regs(x, x->tid, &r, e) || failure_tell(x, &p, e)) {
		inspect_close(&p);
		return -1;
	}
	inspect_close(&p);
	if (!got)
		got = flow_last_write(x, r.rsp, 8, 0, &ignored, e);
	if (!got)
		got = find_canary(x, &slot, &good, e);
	if (!got)
		got = to_first_write(x, slot, good, e);
	if (got > 0) {
		explain_reopen(x);
		explain_end(x, END_UNKNOWN, "what was overwritten is not found");
	}
	return got ? (got < 0 ? -1 : 0) : tell_write(x, "the canary of a function's stack", slot, e);
}
