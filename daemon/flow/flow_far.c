/* SPDX-License-Identifier: MIT */
/*
 * flow_far.c: finds what set a register long ago, before a loop of many passes: the instructions of the function that
 * may set it become breakpoints, and the last stop at one of them is searched for, as for a debugger. Instructions in
 * inner calls of the same function are told apart by the stack pointer, which is lower there.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "flow/flow_int.h"
#include "timetravel/cursor_int.h"

#define INSNS_MAX 20000u /* of a function */
#define INNER_MAX 20u /* stops in inner calls that are passed over */

struct places_set {
	uint64_t *v;
	size_t n;
};

static void add(struct flow *f, struct places_set *s, uint64_t pc)
{
	for (size_t k = 0; k < s->n; k++)
		if (s->v[k] == pc)
			return;
	s->v[s->n++] = pc;
	breaks_add(&f->x->t.breaks, pc, 0);
}

/* May the instruction at pc set f's register? Then its address, or that after a call, becomes a place to stop at. */
static void look_at(struct flow *f, const struct user_regs_struct *r, uint64_t pc, bool kept, struct places_set *s)
{
	struct user_regs_struct at = *r;
	uint8_t code[INSN_BYTES];
	struct insn_regs regs;
	struct err ignored;
	struct insn i;

	at.rip = pc;
	if (explain_insn(f->x, &at, code, &i, &ignored))
		return;
	if (insn_kind(&i) == INSN_CALL) {
		if (!kept)
			add(f, s, pc + insn_len(&i));
		return;
	}
	insn_regs(code, i.n, &regs);
	if (regs.writes >> f->l.reg & 1)
		add(f, s, pc);
}

/* Sets breakpoints in the function around r's PC: in all of it, or none if GDB does not know where it begins. */
static int set_breaks(struct flow *f, const struct user_regs_struct *r, bool kept, struct places_set *s, struct err *e)
{
	cleanup_mi_reply struct mi_reply reply = {0};
	const struct mi_value *list;
	int got = gdb_cmd(f->x->g, 0, &reply, e, "-data-disassemble -a 0x%llx -- 0", (unsigned long long)r->rip);

	if (got)
		return got < 0 ? -1 : 0;
	list = mi_get(reply.result->results, "asm_insns");
	if (!list || !list->n || list->n > INSNS_MAX)
		return 0;
	s->v = xcalloc(list->n + 1, sizeof(*s->v));
	for (size_t k = 0; k < list->n; k++) {
		const char *address = mi_str(list->item[k], "address");
		uint64_t pc;

		if (!address || str_u64(address, 16, 0, UINT64_MAX, &pc))
			continue;
		if (k)
			look_at(f, r, pc, kept, s);
		else
			add(f, s, pc); /* the function's entry */
	}
	return 0;
}

static void clear_breaks(struct flow *f, struct places_set *s)
{
	for (size_t k = 0; k < s->n; k++)
		breaks_remove(&f->x->t.breaks, s->v[k], 0);
	free(s->v);
}

int flow_far_back(struct flow *f, bool kept, struct user_regs_struct *regs, struct err *e)
{
	struct explain *x = f->x;
	struct places_set s = {0};
	struct user_regs_struct now;
	struct timeline_point here;
	struct stop stop = {0};
	int r = 1;

	if (explain_regs(x, f->tid, &now, e) || cursor_where(&x->t, &here, e) || set_breaks(f, &now, kept, &s, e)) {
		clear_breaks(f, &s);
		return -1;
	}
	for (unsigned n = 0; s.n && r == 1 && n < INNER_MAX; n++) {
		if (cursor_back_continue(&x->t, &stop, e))
			r = -1;
		else if (stop.kind != STOP_BREAK)
			break;
		else if (x->t.in.seg.tid == cursor_now(&x->t, f->tid))
			r = explain_regs(x, f->tid, regs, e) ? -1 : regs->rsp < now.rsp;
	}
	clear_breaks(f, &s);
	return r == 1 && cursor_goto_point(&x->t, &here, e) ? -1 : r;
}
