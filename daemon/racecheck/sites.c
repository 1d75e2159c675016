/* SPDX-License-Identifier: MIT */
/* sites.c: what makes accesses, by numbers: an instruction, or a call, and the calls around it. */
#include <stdlib.h>

#include "racecheck/racecheck.h"

#define FIRST 4096 /* a power of two */
#define HASH 0x9e3779b97f4a7c15ull
#define WIDE 16

uint32_t racecheck_path(const struct racecheck *r)
{
	const struct race_thread *t = &r->threads[r->i.thread];
	size_t n = r->i.stack->n;

	return n && n <= t->cap ? t->path[n - 1] : 0;
}

/* Other code may have been at the same addresses. */
static bool is_same_code(const struct racecheck *r, const struct race_site *a, const struct race_site *b)
{
	const struct code *c = &r->i.code;

	if (a->code == b->code)
		return true;
	for (uint32_t p = a->path; p; p = r->paths.v[p].parent)
		if (!code_is_same(c, r->paths.v[p].pc, a->code, b->code))
			return false;
	return code_is_same(c, a->pc, a->code, b->code);
}

static size_t site_place(const struct racecheck *r, const struct race_site *s)
{
	size_t k = (size_t)((s->pc * HASH ^ (uint64_t)s->path << 4 ^ s->kind) * HASH >> 32) & (r->site_slots - 1);

	for (; r->site_slot[k]; k = (k + 1) & (r->site_slots - 1)) {
		const struct race_site *v = &r->sites[r->site_slot[k]];

		if (v->pc == s->pc && v->path == s->path && v->kind == s->kind && is_same_code(r, v, s))
			break;
	}
	return k;
}

void racecheck_more_sites(struct racecheck *r)
{
	r->site_slots = r->site_slots ? r->site_slots * 2 : FIRST;
	r->csites = r->site_slots / 2 + 1;
	r->sites = xreallocarray(r->sites, r->csites, sizeof(*r->sites));
	free(r->site_slot);
	r->site_slot = xcalloc(r->site_slots, sizeof(*r->site_slot));
	for (size_t i = 1; i < r->nsites; i++)
		r->site_slot[site_place(r, &r->sites[i])] = (uint32_t)i;
}

uint32_t racecheck_site_number(struct racecheck *r, const struct race_site *s)
{
	size_t k = site_place(r, s);

	if (r->site_slot[k]) {
		/* the code is the same, and this way it is found sooner next time */
		r->sites[r->site_slot[k]].code = s->code;
		return r->site_slot[k];
	}
	if (r->nsites == r->csites) {
		racecheck_more_sites(r);
		k = site_place(r, s);
	}
	r->sites[r->nsites] = *s;
	r->site_slot[k] = (uint32_t)r->nsites;
	return (uint32_t)r->nsites++;
}

bool racecheck_is_program(struct racecheck *r, uint64_t pc)
{
	const struct code_file *m = modules_at(&r->rules.modules, r->i.t->pid, pc);

	return !m || m->kind == MODULE_PROGRAM;
}

const struct instrument_frame *racecheck_call(struct racecheck *r)
{
	for (size_t k = r->i.stack->n; k; k--)
		if (racecheck_is_program(r, r->i.stack->v[k - 1].pc))
			return &r->i.stack->v[k - 1];
	return NULL;
}

uint32_t racecheck_site(struct racecheck *r, const struct instrument_access *a, bool in_program, uint32_t *hits)
{
	struct race_site s = {
		.path = racecheck_path(r),
		.pc = a->insn->pc,
		.code = r->i.code.now,
		.shown = a->insn->pc,
		.locked = a->insn->shape.locked,
		.modifies = a->insn->shape.reads && a->insn->shape.writes,
		.wide = a->len > WIDE || a->insn->shape.string,
	};
	const struct instrument_frame *f;

	*hits = instrument_has_hits(&r->i) ? (uint32_t)a->insn->hits : 0;
	if (!in_program) {
		f = racecheck_call(r);
		s.shown = f ? f->pc : 0;
		*hits = f && f->event == r->i.event ? (uint32_t)f->hits : 0;
	}
	return racecheck_site_number(r, &s);
}
