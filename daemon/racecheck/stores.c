/* SPDX-License-Identifier: MIT */
/* stores.c: which stores release, what was released, and which instructions' accesses need not be told again and again.
 */
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

void racecheck_note_release(struct racecheck *r, uint64_t addr, uint64_t len)
{
	for (uint64_t end = addr + len; addr < end;) {
		unsigned from = addr % 8, most = 8 - from, n;
		struct shadow_var *v = shadow_vars(&r->released, shadow_cell(&r->released, addr, true), from,
						   end - addr < most ? (unsigned)(end - addr) : most, &n);

		for (unsigned i = 0; i < n; i++)
			v[i].w.epoch = 1;
		addr += most;
	}
}

bool racecheck_is_released(struct racecheck *r, uint64_t addr, uint64_t len)
{
	for (uint64_t at = addr; at < addr + len; at++) {
		const uint32_t *cell = shadow_cell(&r->released, at, false);
		unsigned n = 0;
		const struct shadow_var *v = cell ? shadow_all(&r->released, *cell, &n) : NULL;

		if (v && v[at % 8 * n / 8].w.epoch)
			return true;
	}
	return false;
}

/*
 * Once for each instruction: is everything known that decides whether its accesses may be left out once they are known?
 * A store that releases ends an epoch. So does a relaxed load, after which others are examined again: in programs with
 * relaxed loads, all atomic loads are reported each time.
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
	if (!(x->mark & MARK_SORTED)) /* it has written only to stacks */
		return SEGCUR_UNDECIDED_NEW;
	return (x->mark & MARK_WHOSE) == MARK_PROGRAM && !(x->mark & MARK_EACH) ? SEGCUR_NEW : SEGCUR_EACH;
}
