/* SPDX-License-Identifier: MIT */
/*
 * memcheck.c: see memcheck.h.
 *
 * String functions of libc and of the loader read whole vectors, also beyond the end of a block, and use only the bytes
 * before the end. So vector reads in these libraries are not checked, but counted. What the functions read is known
 * from their arguments (strings.h).
 */
#include "memcheck/memcheck.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* ---- where it is ---- */

/* pc 0: in the recorder's function that was called last. */
static struct moment here(struct memcheck *m, uint64_t pc, uint64_t hits)
{
	const struct instrument *i = &m->i;
	struct moment d = {.event = i->event, .thread = i->thread, .code = i->code.now};
	uint64_t frames[STACKS_DEPTH];
	bool has_hits = instrument_has_hits(i);
	uint32_t n = 0;

	if (pc)
		frames[n++] = pc;
	if (pc && has_hits && visibility_is_certain(&i->visibility, pc)) {
		d.pc = pc;
		d.hits = hits;
	}
	for (size_t k = i->stack->n; k && n < STACKS_DEPTH; k--) {
		const struct instrument_frame *f = &i->stack->v[k - 1];

		frames[n++] = f->pc;
		has_hits &= f->hits != 0;
		/* the recorder calls functions of libc, too: there, its own calls would count */
		if (d.pc || !has_hits || !visibility_is_certain(&i->visibility, f->pc))
			continue;
		d.event = f->event;
		d.pc = f->pc;
		d.hits = f->hits;
	}
	d.stack = stacks_number(&m->stacks, frames, n);
	return d;
}

/* ---- findings ---- */

/* Other code may have been at the same addresses. */
static bool same_stack(const struct memcheck *m, const struct moment *a, const struct moment *b)
{
	const struct kept_stack *x = m->stacks.v[a->stack], *y = m->stacks.v[b->stack];
	uint32_t n = x->n < MEMCHECK_SAME_FRAMES ? x->n : MEMCHECK_SAME_FRAMES;

	if (n != (y->n < MEMCHECK_SAME_FRAMES ? y->n : MEMCHECK_SAME_FRAMES) ||
	    memcmp(x->pc, y->pc, n * sizeof(x->pc[0])) != 0)
		return false;
	for (uint32_t k = 0; k < n; k++)
		if (!code_is_same(&m->i.code, x->pc[k], a->code, b->code))
			return false;
	return true;
}

static struct memory_finding *find(const struct memcheck *m, enum finding_kind kind, const struct moment *at,
				   bool writes)
{
	for (size_t k = 0; k < m->n; k++)
		if (m->v[k].kind == kind && m->v[k].writes == writes && same_stack(m, &m->v[k].at, at))
			return &m->v[k];
	return NULL;
}

struct memory_finding *memcheck_add(struct memcheck *m, enum finding_kind kind, const struct moment *at, bool writes,
				    uint64_t addr, uint64_t len, const struct heap_piece *block)
{
	struct memory_finding *f = find(m, kind, at, writes);

	if (f) {
		f->count++;
		f->len += kind == FINDING_LEAK ? len : 0;
		return NULL;
	}
	if (m->n == MEMCHECK_FINDINGS_MAX) {
		m->dropped++;
		return NULL;
	}
	if (m->n == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 16;
		m->v = xreallocarray(m->v, m->cap, sizeof(*m->v));
	}
	m->v[m->n] = (struct memory_finding){.kind = kind,
					     .writes = writes,
					     .addr = addr,
					     .len = len,
					     .at = *at,
					     .block = block ? *block : (struct heap_piece){0},
					     .count = 1};
	m->i.enough |= m->first && memcheck_is_error(&m->v[m->n]);
	return &m->v[m->n++];
}

bool memcheck_is_error(const struct memory_finding *f)
{
	return f->kind == FINDING_FREED || f->kind == FINDING_DOUBLE_FREE || f->kind == FINDING_INVALID_FREE ||
	       (f->kind == FINDING_OUTSIDE && f->writes);
}

/* ---- accesses ---- */

static bool is_string_read(const struct memcheck *m, const struct instrument_access *a)
{
	return (a->insn->shape.vector || strings_inside(&m->strings, m->i.thread)) && !a->writes &&
	       !visibility_is_certain(&m->i.visibility, a->insn->pc);
}

static void on_bad(struct memcheck *m, const struct instrument_access *a, uint64_t bad)
{
	enum finding_kind kind = blocks_is_freed(&m->blocks, bad) ? FINDING_FREED : FINDING_OUTSIDE;
	struct memory_finding *f;
	struct moment at;

	if (is_string_read(m, a)) {
		m->unchecked++;
		return;
	}
	at = here(m, a->insn->pc, a->insn->hits);
	f = memcheck_add(m, kind, &at, a->writes, a->addr, a->len,
			 find(m, kind, &at, a->writes) ? NULL : blocks_near(&m->blocks, bad));
	/* until the hits are told, and if they never are, the event alone is its position */
	if (f && at.pc == a->insn->pc && !instrument_ask(&m->i, a->insn, (size_t)(f - m->v)))
		f->at.pc = f->at.hits = 0;
}

static void position(void *ctx, struct instrument *i, size_t id, uint64_t pc, uint64_t hits)
{
	struct memcheck *m = ctx;

	(void)i;
	m->v[id].at.pc = pc;
	m->v[id].at.hits = hits;
}

/*
 * A shadow that takes longer to be written than the segments would take with entries for all accesses to the heap is
 * of no use.
 */
#define SHADOW_SMALL (8u << 20)

static int shadow(void *ctx, struct instrument *i, pid_t pid, uint64_t at, struct err *e)
{
	struct memcheck *m = ctx;

	(void)i;
	if (blocks_shadow_bytes(&m->blocks) > SHADOW_SMALL)
		return 0;
	return blocks_write_shadow(&m->blocks, pid, at, e) ? -1 : 1;
}

static void access_(void *ctx, struct instrument *i, const struct instrument_access *a)
{
	struct memcheck *m = ctx;
	uint64_t bad;

	(void)i;
	if (a->insn->shape.jumps) {
		m->jump.pc = a->insn->pc;
		m->jump.slot = a->addr;
		m->jump.call = a->insn->shape.call;
	}
	if (m->follows)
		follow_access(&m->follow, a);
	if (blocks_is_heap(a->addr) && !blocks_allow(&m->blocks, a->addr, a->len, &bad))
		on_bad(m, a, bad);
}

/* ---- calls of libc's functions for strings ---- */

static void args(void *ctx, struct instrument *i, uint64_t pc, const uint64_t *reg)
{
	struct memcheck *m = ctx;
	uint64_t sp = reg[6] - (m->jump.call ? 8 : 0);

	if (pc == m->jump.pc && m->follows)
		follow_call(&m->follow, m->jump.slot, sp);
	if (pc == m->jump.pc)
		strings_call(&m->strings, i->t->pid, i->thread, m->jump.slot, reg, sp);
	else if (m->follows && visibility_is_shim(&i->visibility, pc))
		follow_native(&m->follow, reg);
	m->jump.pc = 0;
}

static void loaded(void *ctx, struct instrument *i, uint64_t addr, const uint8_t *bytes, size_t n)
{
	struct memcheck *m = ctx;

	strings_load(&m->strings, i->thread, addr, bytes, n);
}

/* What its result depends on has been told. */
static void result(void *ctx, struct instrument *i, uint64_t sp, uint64_t rax)
{
	struct memcheck *m = ctx;

	if (strings_return(&m->strings, i->thread, sp, rax) && m->follows)
		follow_returned(&m->follow);
}

static void by_function(struct memory_finding *f, const char *function, uint64_t from)
{
	if (!f)
		return;
	f->by = function;
	f->from = from;
}

static void function_reads(void *ctx, const char *function, uint64_t addr, uint64_t len, bool decides)
{
	struct memcheck *m = ctx;
	enum finding_kind kind;
	struct moment at;
	uint64_t bad;

	if (!blocks_is_heap(addr) || blocks_allow(&m->blocks, addr, len, &bad)) {
		if (m->follows && decides)
			follow_given(&m->follow, function, addr, len);
		return;
	}
	kind = blocks_is_freed(&m->blocks, bad) ? FINDING_FREED : FINDING_OUTSIDE;
	at = here(m, 0, 0);
	by_function(memcheck_add(m, kind, &at, false, addr, len, blocks_near(&m->blocks, bad)), function, 0);
}

static void function_overlaps(void *ctx, const char *function, uint64_t to, uint64_t from, uint64_t len)
{
	struct memcheck *m = ctx;
	struct moment at = here(m, 0, 0);

	by_function(memcheck_add(m, FINDING_OVERLAP, &at, true, to, len,
				 blocks_is_heap(to) ? blocks_near(&m->blocks, to) : NULL),
		    function, from);
}

/* ---- the heap ---- */

static void on_free(struct memcheck *m, uint64_t addr)
{
	struct heap_piece *p = blocks_is_heap(addr) ? blocks_at(&m->blocks, addr) : NULL;
	struct moment at = here(m, 0, 0);
	enum family by;
	struct memory_finding *f;

	if (p && p->state == BLOCK_LIVE) {
		by = families_of(&m->families, m->i.t->pid, m->i.stack);
		if (!families_match(&m->families, m->i.t->pid, (enum family)p->family, by) &&
		    (f = memcheck_add(m, FINDING_MISMATCH, &at, false, addr, 0, p)) != NULL)
			f->family = (uint8_t)by;
		if (m->follows)
			follow_free(&m->follow, p);
		blocks_free(&m->blocks, p, &at);
	} else {
		memcheck_add(m, p ? FINDING_DOUBLE_FREE : FINDING_INVALID_FREE, &at, false, addr, 0,
			     p			    ? p
			     : blocks_is_heap(addr) ? blocks_near(&m->blocks, addr)
						    : NULL);
	}
}

static void heap(void *ctx, struct instrument *i, enum replay_report_kind kind, uint64_t a, uint64_t b)
{
	struct memcheck *m = ctx;
	struct heap_piece *p = kind != REPORT_ALLOC && blocks_is_heap(a) ? blocks_at(&m->blocks, a) : NULL;
	struct moment at;

	if (kind == REPORT_FREE) {
		on_free(m, a);
	} else if (kind == REPORT_ALLOC && a) {
		at = here(m, 0, 0);
		if (m->follows)
			follow_alloc(&m->follow, a, b, i->block, &at);
		blocks_add(&m->blocks, a, b, &at);
		p = i->block & REPORT_BLOCK_INNER ? NULL : blocks_at(&m->blocks, a);
		if (p)
			p->family = (uint8_t)families_of(&m->families, i->t->pid, i->stack);
	} else if (p && p->state == BLOCK_LIVE) {
		if (kind == REPORT_RESIZE && m->follows)
			follow_resize(&m->follow, p, b, i->block);
		if (kind == REPORT_RESIZE)
			blocks_resize(&m->blocks, p, b);
		else
			blocks_move(&m->blocks, p, b);
	}
}

/* ---- what was never written ---- */

static void insn(void *ctx, struct instrument *i, struct instrument_insn *x, uint64_t sp)
{
	struct memcheck *m = ctx;

	(void)i;
	follow_insn(&m->follow, x, sp);
}

static void values(void *ctx, struct instrument *i, uint64_t operand, uint64_t other)
{
	struct memcheck *m = ctx;

	(void)i;
	follow_values(&m->follow, operand, other);
}

static void vector(void *ctx, struct instrument *i, unsigned which, const uint8_t *bytes)
{
	struct memcheck *m = ctx;

	(void)i;
	follow_vector(&m->follow, which, bytes);
}

/* By the kernel, or by libc in a call of the recorder. */
static void by_call(struct memcheck *m, uint64_t addr, uint64_t len, bool writes)
{
	enum finding_kind kind;
	struct moment at;
	uint64_t bad;

	if (!len || !blocks_is_heap(addr) || blocks_allow(&m->blocks, addr, len, &bad))
		return;
	kind = blocks_is_freed(&m->blocks, bad) ? FINDING_FREED : FINDING_OUTSIDE;
	at = here(m, 0, 0);
	memcheck_add(m, kind, &at, writes, addr, len, blocks_near(&m->blocks, bad));
}

static void written(void *ctx, struct instrument *i, uint64_t addr, uint64_t len)
{
	struct memcheck *m = ctx;

	(void)i;
	if (m->follows)
		follow_written(&m->follow, addr, len);
	by_call(m, addr, len, true);
}

static void read_(void *ctx, struct instrument *i, uint64_t addr, uint64_t len, bool by_libc)
{
	struct memcheck *m = ctx;

	(void)i;
	if (m->follows && !by_libc)
		follow_output(&m->follow, addr, len);
	by_call(m, addr, len, false);
}

static struct moment follow_here(void *ctx, uint64_t pc, uint64_t hits)
{
	return here(ctx, pc, hits);
}

static void unwritten_used(void *ctx, enum unwritten_use use, const char *function, const struct follow_origin *origin,
			   uint64_t pc, uint64_t hits, uint64_t addr)
{
	struct memcheck *m = ctx;
	struct memory_finding *f;
	struct moment at;

	/* what such a function reads is told when it returns */
	if (pc && strings_decides(&m->strings, m->i.thread) && !visibility_is_certain(&m->i.visibility, pc))
		return;
	at = here(m, pc, hits);
	f = memcheck_add(m, FINDING_UNWRITTEN, &at, false, addr, 0, NULL);
	if (!f)
		return;
	f->use = use;
	f->by = function;
	f->origin = *origin;
}

static int ended(void *ctx, struct instrument *i, struct err *e)
{
	struct memcheck *m = ctx;

	return m->follows ? follow_event(&m->follow, m->tl, i->event + 1, e) : 0;
}

/* ---- the way ---- */

/* At the beginning, and after what was not told, the heap is what the process has. */
static int begun(void *ctx, struct instrument *i, struct trace *t, struct err *e)
{
	struct memcheck *m = ctx;
	uint64_t missed = i->report.unseen + i->report.lost;

	if (m->follows)
		follow_begun(&m->follow);
	else if (strings_known(&m->strings, t->pid, i->thread, &i->report, e))
		return -1;
	if (!m->known || m->unseen != missed) {
		m->known = true;
		m->unseen = missed;
		blocks_read(&m->blocks, t->pid);
	}
	i->report.above |= m->blocks.above;
	return 0;
}

static void unmapped(void *ctx, struct instrument *i)
{
	struct memcheck *m = ctx;

	(void)i;
	if (m->follows)
		follow_unmapped(&m->follow);
	strings_forget(&m->strings);
	families_fini(&m->families);
	families_init(&m->families);
}

void memcheck_init(struct memcheck *m, bool follows)
{
	static const struct instrument_ops ops = {.lo = BLOCKS_LO,
						  .hi = BLOCKS_HI,
						  .begun = begun,
						  .unmapped = unmapped,
						  .access = access_,
						  .heap = heap,
						  .args = args,
						  .result = result,
						  .loaded = loaded,
						  .written = written,
						  .read = read_,
						  .shadow = shadow,
						  .position = position},
					   all = {.begun = begun,
						  .unmapped = unmapped,
						  .access = access_,
						  .heap = heap,
						  .args = args,
						  .result = result,
						  .loaded = loaded,
						  .insn = insn,
						  .values = values,
						  .vector = vector,
						  .written = written,
						  .read = read_,
						  .ended = ended};
	static const struct follow_ops follow_ops = {follow_here, unwritten_used};
	static const struct string_ops string_ops = {function_reads, function_overlaps};

	memset(m, 0, sizeof(*m));
	instrument_init(&m->i, follows ? &all : &ops, m);
	m->follows = follows;
	if (follows)
		follow_init(&m->follow, &m->i, &follow_ops, m);
	blocks_init(&m->blocks);
	strings_init(&m->strings, &string_ops, m);
	families_init(&m->families);
	stacks_number(&m->stacks, NULL, 0);
}

void memcheck_fini(struct memcheck *m)
{
	instrument_fini(&m->i);
	blocks_fini(&m->blocks);
	strings_fini(&m->strings);
	families_fini(&m->families);
	follow_fini(&m->follow);
	stacks_fini(&m->stacks);
	free(m->v);
	memset(m, 0, sizeof(*m));
}

int memcheck_run(struct memcheck *m, struct nav *nav, uint64_t from, uint64_t to, struct err *e)
{
	m->tl = nav->t.tl;
	return instrument_run(&m->i, nav, from, to, e);
}
