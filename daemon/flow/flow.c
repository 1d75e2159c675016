/* SPDX-License-Identifier: MIT */
/* flow.c: see flow.h. */
#define LOG_DOMAIN "explain"
#include "flow/flow_int.h"

#include "timetravel/cursor_int.h"

int flow_on(struct flow *f, struct err *e)
{
	int r = FLOW_ON;

	while (r == FLOW_ON && !explain_is_over(f->x))
		r = f->l.where == INSN_IN_MEM ? flow_memory(f, e) : flow_register(f, e);
	if (r < 0 && explain_may_go_on(f->x, e)) {
		explain_end(f->x, e->kind == ERR_CANCELLED ? END_LIMIT : END_UNKNOWN, "%s",
			    e->kind == ERR_CANCELLED ? "the search has taken too long to go on" : e->text);
		r = FLOW_ENDED;
	}
	return r < 0 ? -1 : 0;
}

static int follow(struct flow *f, struct err *e)
{
	struct user_regs_struct r;

	if (f->l.len > 8)
		f->l.len = 8;
	f->x->kept = f->x->emptied = 0; /* these belong to the value that was followed before */
	if (explain_regs(f->x, f->tid, &r, e))
		return -1;
	if (!flow_read(f->x, &r, &f->l, f->value)) {
		explain_end(f->x, END_UNKNOWN, "the value cannot be read");
		return 0;
	}
	return flow_on(f, e);
}

int flow_follow(struct explain *x, pid_t tid, const struct insn_loc *l, bool pointer, struct err *e)
{
	struct flow f = {.x = x, .tid = tid, .l = *l, .pointer = pointer};

	return follow(&f, e);
}

int flow_follow_index(struct explain *x, pid_t tid, const struct insn_loc *l, struct err *e)
{
	struct flow f = {.x = x, .tid = tid, .l = *l, .pointer = true, .number = true};

	return follow(&f, e);
}

int flow_follow_write(struct explain *x, pid_t tid, struct err *e)
{
	struct insn_access v[INSN_ACCESSES];
	struct flow f = {.x = x, .tid = tid};
	struct user_regs_struct r;
	uint8_t code[INSN_BYTES];
	struct insn_origin o;
	struct insn i;
	unsigned n;

	if (explain_regs(x, tid, &r, e))
		return -1;
	if (visibility_is_shim(&x->t.visibility, r.rip) || explain_insn(x, &r, code, &i, e))
		return 0;
	n = insn_accesses(&i, v);
	for (unsigned k = 0; k < n; k++) {
		if (!v[k].writes || v[k].stack || v[k].len > 8)
			continue;
		f.l = (struct insn_loc){.where = INSN_IN_MEM, .addr = v[k].addr, .len = v[k].len};
		insn_origin(&i, &f.l, &o);
		if (o.effect != INSN_COPIES || !flow_read(x, &r, &o.from[0], f.value))
			return 0;
		f.l = o.from[0];
		return flow_on(&f, e);
	}
	return 0;
}
