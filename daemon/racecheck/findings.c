/* SPDX-License-Identifier: MIT */
/* findings.c: from two accesses to a finding: where they are, which variable, and whether it is known already. */
#include <string.h>

#include "base/str.h"
#include "racecheck/racecheck.h"
#include "rlog/replay.h"

#define RACES_MAX 2000

/* ---- statements ---- */

static uint64_t hash(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3u;
	return h;
}

/* A number for the statement at pc; without debug information, for the instruction. */
static uint64_t statement(struct racecheck *r, const struct race_site *s)
{
	struct code_file *m = modules_at(&r->rules.modules, r->i.t->pid, s->shown);
	int line = 0;
	const char *path = m ? module_line(m, s->shown, &line) : NULL;
	uint64_t h = hash(0xcbf29ce484222325u, path ? path : "");

	h = (h ^ (path ? (unsigned)line : s->shown)) * 0x100000001b3u;
	return h ^ (s->kind == RACE_FREE);
}

static struct race *find(const struct racecheck *r, uint64_t a, uint64_t b)
{
	for (size_t k = 0; k < r->n; k++)
		if ((r->v[k].key[0] == a && r->v[k].key[1] == b) || (r->v[k].key[0] == b && r->v[k].key[1] == a))
			return &r->v[k];
	return NULL;
}

/* ---- where ---- */

/* The event after which the thread was when its clock had this value. */
static uint64_t event_at(const struct racecheck *r, uint32_t thread, uint64_t clock)
{
	const struct race_thread *t = &r->threads[thread];
	size_t lo = 0, hi = t->ntimes;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->times[mid].clock <= clock)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? t->times[lo - 1].event : 0;
}

static uint32_t stack_of(struct racecheck *r, const struct race_site *s)
{
	uint64_t pc[STACKS_DEPTH];
	uint32_t n = 0;

	if (s->kind == RACE_INSN)
		pc[n++] = s->pc;
	n += paths_calls(&r->paths, s->path, pc + n, STACKS_DEPTH - n);
	return stacks_number(&r->stacks, pc, n);
}

static struct race_end end_of(struct racecheck *r, const struct detect_access *a)
{
	const struct race_site *s = &r->sites[a->site];
	struct race_end out = {
		.at = {.event = event_at(r, a->thread, a->clock), .thread = a->thread, .code = s->code},
		.kind = s->kind,
		.writes = a->writes,
		.addr = a->addr,
		.len = a->len,
		.pc = s->pc,
	};

	out.at.stack = stack_of(r, s);
	if (a->hits && s->shown) {
		out.at.pc = s->shown;
		out.at.hits = a->hits;
	}
	return out;
}

/* ---- what ---- */

static bool is_on_stack(const struct racecheck *r, uint32_t thread, uint64_t addr)
{
	const struct instrument_stack *s = &r->i.stacks[thread];

	return s->n && addr + 4096 >= s->sp && addr <= s->v[0].sp + 4096;
}

/* The thread whose stack it is on; 0: none. */
static uint32_t owner_of(const struct racecheck *r, uint64_t addr)
{
	uint64_t at = addr - SHIM_STACK_ADDR;

	if (at >> 26 < RLOG_MAX_THREADS)
		return (uint32_t)(at >> 26);
	return is_on_stack(r, 1, addr) ? 1 : 0;
}

/* Names the local variable of a frame of that thread that is at the address now. */
static void name_local(struct racecheck *r, struct race *f)
{
	const struct instrument_stack *s = &r->i.stacks[f->owner];

	/* frame k lies below the return address of call k, and the calls that it makes are those from k + 1 on */
	for (size_t k = s->n; k--;) {
		uint64_t cfa = s->v[k].sp + 8, pc;
		struct code_file *m;

		if (f->addr >= cfa)
			continue;
		if (k + 1 == s->n)
			return; /* the innermost function: its PC is not known */
		pc = s->v[k + 1].pc;
		m = modules_at(&r->rules.modules, r->i.t->pid, pc);
		if (m)
			name_of_local(m, pc, cfa, f->addr, &f->name);
		return;
	}
}

static void place(struct racecheck *r, struct race *f)
{
	const struct heap_piece *p;
	struct code_file *m;

	if (blocks_is_heap(f->addr)) {
		f->place = RACE_HEAP;
		p = blocks_near(&r->blocks, f->addr);
		if (p && f->addr >= p->at && f->addr < p->at + p->len)
			f->block = *p;
		return;
	}
	f->owner = owner_of(r, f->addr);
	if (f->owner) {
		f->place = RACE_STACK;
		name_local(r, f);
		return;
	}
	m = modules_at(&r->rules.modules, r->i.t->pid, f->addr);
	if (m && name_of_static(m, f->addr, &f->name))
		f->place = RACE_STATIC;
}

static bool may_be_atomic(const struct racecheck *r, const struct detect_access *a)
{
	return r->sites[a->site].atomic == RULES_UNKNOWN + 1;
}

void racecheck_add(struct racecheck *r, const struct detect_access *earlier, const struct detect_access *later)
{
	uint64_t a = statement(r, &r->sites[earlier->site]), b = statement(r, &r->sites[later->site]);
	struct race *f = find(r, a, b);

	if (f) {
		f->count++;
		return;
	}
	if (r->n == RACES_MAX) {
		r->dropped++;
		return;
	}
	if (r->n == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 16;
		r->v = xreallocarray(r->v, r->cap, sizeof(*r->v));
	}
	f = &r->v[r->n++];
	*f = (struct race){.earlier = end_of(r, earlier),
			   .later = end_of(r, later),
			   .addr = earlier->addr,
			   .len = earlier->len,
			   .count = 1,
			   .guessed = may_be_atomic(r, earlier) && may_be_atomic(r, later),
			   .key = {a, b}};
	place(r, f);
}
