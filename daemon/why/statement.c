/* SPDX-License-Identifier: MIT */
/*
 * statement.c: what a statement used: from the instruction that made a value back to those of the same statement
 * that loaded or computed its operands. Registers are followed as long as what set them is of the same statement, and
 * stands in front of what used it in the code too: what stands after it belongs to an earlier pass of a loop.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "timetravel/cursor_int.h"
#include "why/why.h"

#define INSNS_MAX 64 /* instructions of a statement that are examined */
#define FRAME_MAX (1u << 20) /* bytes between a frame pointer and the stack pointer */

struct gathering {
	struct why *w;
	struct why_step *step;
	struct gdb_line line; /* of the statement */
	pid_t tid;
	unsigned insns;
};

/* An address of the frame itself: made by the compiler, of no value of the program's. */
static bool is_frame(const struct insn_loc *l, const struct user_regs_struct *r)
{
	return l->where == INSN_IN_REG &&
	       (l->reg == INSN_RSP || (l->reg == INSN_RBP && r->rbp >= r->rsp && r->rbp - r->rsp < FRAME_MAX));
}

/*
 * Is the instruction at pc of the statement that the step is about? GDB is attached to nothing, and knows the program.
 * What libc or the loader does inside is one thing.
 */
static bool is_of_statement(struct gathering *g, uint64_t pc)
{
	const struct visibility *v = &g->w->x.t.visibility;
	struct gdb_line line = {0};
	struct err ignored;
	bool same;

	if (!visibility_is_certain(v, g->step->at.pc) || !visibility_is_certain(v, pc))
		return !visibility_is_certain(v, g->step->at.pc) && !visibility_is_certain(v, pc);
	if (gdb_line_at(g->w->x.g, pc, &line, &ignored))
		return false;
	same = line.line && line.line == g->line.line && str_eq(line.func, g->line.func) &&
	       str_eq(line.file, g->line.file);
	gdb_line_fini(&line);
	return same;
}

static int source(struct gathering *g, const struct insn_loc *l, const struct timeline_point *at, struct err *e);

/* All that the instruction at `at` takes its result from; the cursor stands there. */
static int sources(struct gathering *g, const struct insn_origin *o, const struct timeline_point *at, struct err *e)
{
	for (unsigned k = 0; k < o->n; k++)
		if ((k && cursor_goto_point(&g->w->x.t, at, e)) || source(g, &o->from[k], at, e))
			return -1;
	return 0;
}

/* A register: *o is the operand that it is, unless its statement is this one. */
static int of_register(struct gathering *g, struct why_operand *o, const struct timeline_point *at, bool *merged,
		       struct err *e)
{
	struct explain *x = &g->w->x;
	struct flow f = {.x = x, .tid = g->tid, .l = o->l};
	struct flow_setter s;
	bool called = false;
	int r;

	memcpy(f.value, o->value, sizeof(f.value));
	flow_setter_begin(&s);
	while ((r = flow_to_setter(&f, &s, e)) == SETTER_CALL)
		called = true;
	if (r < 0)
		return -1;
	if (r == SETTER_LOST) {
		why_take_end(g->w, &o->end, &o->end_text);
		return 0;
	}
	o->begins = r == SETTER_BEGIN;
	if (o->begins)
		return 0;
	o->set = true;
	if (cursor_where(&x->t, &o->setter, e))
		return -1;
	*merged = r == SETTER_INSN && !called && o->setter.pc < at->pc && g->insns++ < INSNS_MAX &&
		  s.origin.effect != INSN_KEEPS && is_of_statement(g, o->setter.pc);
	if (*merged && s.origin.effect == INSN_SETS)
		return 0; /* a constant of this statement */
	return *merged ? sources(g, &s.origin, &o->setter, e) : 0;
}

/* What is at l in front of the instruction at `at`, where the cursor stands. */
static int source(struct gathering *g, const struct insn_loc *l, const struct timeline_point *at, struct err *e)
{
	struct explain *x = &g->w->x;
	struct user_regs_struct r;
	struct why_operand *o;
	bool merged = false;

	if (explain_regs(x, g->tid, &r, e))
		return -1;
	if (is_frame(l, &r))
		return 0;
	o = why_operand_new(l, g->tid);
	if (o->l.len > 8)
		o->l.len = 8;
	o->at = *at;
	if (!flow_read(x, &r, &o->l, o->value)) {
		o->text = xstrdup("?");
		why_set_end(&o->end, &o->end_text, END_UNKNOWN, "it is in %s, which cannot be read",
			    l->where == INSN_IN_MEM ? "memory" : insn_reg_name(l->reg));
	} else if (l->where == INSN_IN_REG && of_register(g, o, at, &merged, e)) {
		why_operand_fini(o);
		free(o);
		return -1;
	}
	if (!merged) {
		why_step_add(g->step, o);
		return 0;
	}
	why_operand_fini(o);
	free(o);
	return 0;
}

int why_statement(struct why *w, struct why_step *step, const struct insn_origin *o, struct err *e)
{
	struct gathering g = {.w = w, .step = step, .tid = step->tid};
	int r;

	if (gdb_line_at(w->x.g, step->at.pc, &g.line, e))
		return -1;
	r = sources(&g, o, &step->at, e);
	gdb_line_fini(&g.line);
	return r;
}
