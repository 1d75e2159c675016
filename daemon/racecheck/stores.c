/* SPDX-License-Identifier: MIT */
/* stores.c: which stores release, and which instructions' accesses need not be told again and again. */
#include "racecheck/racecheck.h"
#include "rlog/replay.h"

bool racecheck_stores_atomically(struct racecheck *r, const struct instrument_access *a, bool in_program)
{
	struct instrument_insn *x = a->insn;

	if (!in_program || x->shape.reads || a->len > 8 || shim_is_stack(a->addr))
		return false;
	if (!(x->mark & MARK_ASKED)) {
		x->mark |= MARK_ASKED;
		if (rules_atomic(&r->rules, r->i.t->pid, x->pc, a->addr) == RULES_ATOMIC)
			x->mark |= MARK_STORES;
	}
	return x->mark & MARK_STORES;
}

/*
 * Once for each instruction: is all known that says whether its accesses may be left out where they are known? A store
 * that releases ends an epoch. So does a relaxed load, after which others are examined again: where there are such, all
 * atomic loads are told each time.
 */
static bool is_sorted(struct racecheck *r, const struct instrument_access *a, bool in_program)
{
	struct instrument_insn *x = a->insn;

	if (!in_program || (a->reads && a->writes) || a->len > 8)
		return true;
	if (a->writes) {
		racecheck_stores_atomically(r, a, in_program);
		return x->mark & MARK_ASKED;
	}
	if (rules_has_relaxed(&r->rules) && rules_atomic(&r->rules, r->i.t->pid, x->pc, a->addr) != RULES_PLAIN)
		x->mark |= MARK_EACH;
	return true;
}

void racecheck_see(struct racecheck *r, const struct instrument_access *a, bool in_program)
{
	uint32_t before = a->insn->mark;

	if (before & MARK_SORTED)
		return;
	a->insn->mark |= MARK_MET;
	if (is_sorted(r, a, in_program))
		a->insn->mark |= MARK_SORTED;
	r->i.report.sorted += a->insn->mark != before;
}

enum segcur_sort racecheck_sort(void *ctx, struct instrument *i, struct instrument_insn *x)
{
	(void)ctx;
	(void)i;
	if (x->shape.locked || x->mark & MARK_STORES || !(x->mark & MARK_MET))
		return SEGCUR_UNDECIDED;
	if (!(x->mark & MARK_SORTED)) /* it has written to stacks only */
		return SEGCUR_UNDECIDED_NEW;
	return (x->mark & MARK_WHOSE) == MARK_PROGRAM && !(x->mark & MARK_EACH) ? SEGCUR_NEW : SEGCUR_EACH;
}
