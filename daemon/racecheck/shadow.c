/* SPDX-License-Identifier: MIT */
/* shadow.c: see shadow.h. */
#include "racecheck/shadow.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"

#define CELLS (SHADOW_PAGE / 8)
#define CHUNK 65536u /* vars */
#define SLAB (2u << 20) /* bytes, and a multiple of the large pages of x86-64 */
#define CELL_BYTES (CELLS * sizeof(uint32_t))
#define FIRST 1024 /* reads */
#define SPLIT(cell) ((enum shadow_split)((cell)&3))
#define NUMBER(cell) ((cell) >> 2)

static const unsigned vars_of[] = {[SHADOW_NONE] = 0, [SHADOW_WHOLE] = 1, [SHADOW_HALVES] = 2, [SHADOW_BYTES] = 8};
/* A var is for this many bytes: 1 << shift. */
static const unsigned shift_of[] = {[SHADOW_NONE] = 3, [SHADOW_WHOLE] = 3, [SHADOW_HALVES] = 2, [SHADOW_BYTES] = 0};

_Static_assert(CHUNK * sizeof(struct shadow_var) == SLAB, "a chunk is a slab");

/* Allocates zeroed memory in large pages: with small ones, most accesses would miss the processor's TLB. */
static void *slab(void)
{
	void *p = aligned_alloc(SLAB, SLAB);

	if (!p)
		return xcalloc(1, SLAB);
	madvise(p, SLAB, MADV_HUGEPAGE);
	return memset(p, 0, SLAB);
}

void shadow_init(struct shadow *s)
{
	memset(s, 0, sizeof(*s));
	s->nvars = s->nreads = 1; /* number 0 is none */
	table_init(&s->pages, sizeof(struct shadow_page));
}

void shadow_fini(struct shadow *s)
{
	table_fini(&s->pages);
	for (size_t i = 0; i < s->slabs; i++)
		free(s->slab[i]);
	free(s->slab);
	for (uint32_t i = 0; i < s->chunks; i++)
		free(s->chunk[i]);
	free(s->chunk);
	for (uint32_t i = 0; s->reads && i < s->nreads; i++)
		free(s->reads[i].v);
	free(s->reads);
	memset(s, 0, sizeof(*s));
}

/* ---- pages ---- */

/* Allocates the cells of a page. */
static uint32_t *cells(struct shadow *s)
{
	if (s->slab_used == s->slabs * (size_t)SLAB) {
		s->slab = xreallocarray(s->slab, s->slabs + 1, sizeof(*s->slab));
		s->slab[s->slabs++] = slab();
	}
	s->slab_used += CELL_BYTES;
	return (uint32_t *)(void *)(s->slab[s->slabs - 1] + (s->slab_used - CELL_BYTES) % SLAB);
}

uint32_t *shadow_cell(struct shadow *s, uint64_t addr, bool make)
{
	uint64_t at = addr & ~(uint64_t)(SHADOW_PAGE - 1);
	unsigned k = (unsigned)(addr / SHADOW_PAGE & (SHADOW_NEAR - 1));
	struct shadow_page *p;

	if (at != s->near[k].addr || !s->near[k].cell) {
		p = table_find(&s->pages, at);
		if (!p) {
			if (!make || !at)
				return NULL;
			p = table_add(&s->pages, at);
			p->cell = cells(s);
		}
		s->near[k].addr = at;
		s->near[k].cell = p->cell;
	}
	return &s->near[k].cell[(addr - at) / 8];
}

/* ---- vars ---- */

struct shadow_var *shadow_var_at(const struct shadow *s, uint32_t number)
{
	return &s->chunk[number / CHUNK][number % CHUNK];
}

/* Takes that many consecutive vars, all 0; returns the number of the first. */
static uint32_t take(struct shadow *s, enum shadow_split how)
{
	uint32_t n = vars_of[how], at = s->spare[how];

	if (at) {
		s->spare[how] = shadow_var_at(s, at)->w.site;
	} else {
		/* not across the end of a chunk */
		if (s->nvars % CHUNK + n > CHUNK)
			s->nvars += CHUNK - s->nvars % CHUNK;
		if (s->nvars / CHUNK >= s->chunks) {
			s->chunk = xreallocarray(s->chunk, s->chunks + 1, sizeof(*s->chunk));
			s->chunk[s->chunks++] = slab();
		}
		at = s->nvars;
		s->nvars += n;
	}
	memset(shadow_var_at(s, at), 0, n * sizeof(struct shadow_var));
	return at;
}

static void give_back(struct shadow *s, uint32_t cell)
{
	uint32_t at = NUMBER(cell);

	shadow_var_at(s, at)->w.site = s->spare[SPLIT(cell)];
	s->spare[SPLIT(cell)] = at;
}

static void drop_var(struct shadow *s, struct shadow_var *v)
{
	if (v->r.epoch == SHADOW_SHARED)
		shadow_reads_drop(s, v->r.site);
	*v = (struct shadow_var){0};
}

static struct shadow_var copy_of(struct shadow *s, const struct shadow_var *v)
{
	struct shadow_var out = *v;

	if (v->r.epoch == SHADOW_SHARED) {
		uint32_t number = shadow_reads_new(s);
		struct shadow_reads *to = shadow_reads_of(s, number), *from = shadow_reads_of(s, v->r.site);

		to->n = to->cap = from->n;
		to->v = xmalloc(from->n * sizeof(*to->v));
		memcpy(to->v, from->v, from->n * sizeof(*to->v));
		out.r.site = number;
	}
	return out;
}

static void divide(struct shadow *s, uint32_t *cell, enum shadow_split how)
{
	uint32_t was = *cell, to = take(s, how);
	unsigned n = vars_of[how], had = vars_of[SPLIT(was)];

	for (unsigned i = 0; i < n && had; i++) {
		const struct shadow_var *v = shadow_var_at(s, NUMBER(was) + i * had / n);

		*shadow_var_at(s, to + i) = copy_of(s, v);
	}
	for (unsigned i = 0; i < had; i++)
		drop_var(s, shadow_var_at(s, NUMBER(was) + i));
	if (had)
		give_back(s, was);
	*cell = to << 2 | how;
}

static enum shadow_split split_for(unsigned from, unsigned len)
{
	if (len == 8)
		return SHADOW_WHOLE;
	return len == 4 && from % 4 == 0 ? SHADOW_HALVES : SHADOW_BYTES;
}

struct shadow_var *shadow_peek(const struct shadow *s, uint32_t cell, unsigned from, unsigned len, unsigned *n)
{
	unsigned shift = shift_of[SPLIT(cell)];

	if (SPLIT(cell) < split_for(from, len))
		return NULL;
	*n = len >> shift;
	return shadow_var_at(s, NUMBER(cell) + (from >> shift));
}

void shadow_prefetch(struct shadow *s, uint64_t addr, bool far)
{
	const uint32_t *cell = shadow_cell(s, addr, false);

	if (cell && far)
		__builtin_prefetch(cell);
	else if (cell && *cell)
		__builtin_prefetch(shadow_var_at(s, NUMBER(*cell) + (addr % 8 >> shift_of[SPLIT(*cell)])));
}

struct shadow_var *shadow_vars(struct shadow *s, uint32_t *cell, unsigned from, unsigned len, unsigned *n)
{
	enum shadow_split how = split_for(from, len);

	if (SPLIT(*cell) < how)
		divide(s, cell, how);
	return shadow_peek(s, *cell, from, len, n);
}

struct shadow_var *shadow_all(const struct shadow *s, uint32_t cell, unsigned *n)
{
	*n = vars_of[SPLIT(cell)];
	return *n ? shadow_var_at(s, NUMBER(cell)) : NULL;
}

void shadow_unite(struct shadow *s, uint32_t *cell)
{
	uint32_t was = *cell, to = take(s, SHADOW_WHOLE);

	*shadow_var_at(s, to) = copy_of(s, shadow_var_at(s, NUMBER(was)));
	for (unsigned i = 0; i < vars_of[SPLIT(was)]; i++)
		drop_var(s, shadow_var_at(s, NUMBER(was) + i));
	give_back(s, was);
	*cell = to << 2 | SHADOW_WHOLE;
}

/* ---- reads ---- */

uint32_t shadow_reads_new(struct shadow *s)
{
	uint32_t at = s->spare_reads;

	if (at) {
		s->spare_reads = s->reads[at].cap;
		s->reads[at] = (struct shadow_reads){0};
		return at;
	}
	if (s->nreads >= s->creads) {
		s->creads = s->creads ? s->creads * 2 : FIRST;
		s->reads = xreallocarray(s->reads, s->creads, sizeof(*s->reads));
		memset(s->reads + (s->nreads == 1 ? 0 : s->nreads), 0,
		       (s->creads - (s->nreads == 1 ? 0 : s->nreads)) * sizeof(*s->reads));
	}
	return s->nreads++;
}

struct shadow_reads *shadow_reads_of(const struct shadow *s, uint32_t number)
{
	return &s->reads[number];
}

void shadow_reads_drop(struct shadow *s, uint32_t number)
{
	free(s->reads[number].v);
	s->reads[number] = (struct shadow_reads){.cap = s->spare_reads};
	s->spare_reads = number;
}

/* ---- forgetting ---- */

static void drop_cell(struct shadow *s, uint32_t *cell)
{
	for (unsigned i = 0; i < vars_of[SPLIT(*cell)]; i++)
		drop_var(s, shadow_var_at(s, NUMBER(*cell) + i));
	if (*cell)
		give_back(s, *cell);
	*cell = 0;
}

/* Drops some bytes of a cell. */
static void drop_part(struct shadow *s, uint32_t *cell, unsigned from, unsigned len)
{
	unsigned n;
	struct shadow_var *v;

	if (!*cell)
		return;
	v = shadow_vars(s, cell, from, len, &n);
	for (unsigned i = 0; i < n; i++)
		drop_var(s, &v[i]);
}

static void drop_in_page(struct shadow *s, const struct shadow_page *p, uint64_t addr, uint64_t end)
{
	for (uint64_t at = addr; at < end;) {
		unsigned from = at % 8, len = end - at < 8 - from ? (unsigned)(end - at) : 8 - from;
		uint32_t *cell = &p->cell[(at - p->addr) / 8];

		if (len == 8)
			drop_cell(s, cell);
		else
			drop_part(s, cell, from, len);
		at += len;
	}
}

void shadow_drop(struct shadow *s, uint64_t addr, uint64_t len)
{
	uint64_t end = addr + len;

	if (len / SHADOW_PAGE > s->pages.n) {
		for (struct shadow_page *p = NULL; (p = table_next(&s->pages, p));)
			if (p->addr < end && p->addr + SHADOW_PAGE > addr)
				drop_in_page(s, p, p->addr > addr ? p->addr : addr,
					     p->addr + SHADOW_PAGE < end ? p->addr + SHADOW_PAGE : end);
		return;
	}
	while (addr < end) {
		uint64_t to = (addr | (SHADOW_PAGE - 1)) + 1;
		struct shadow_page *p = table_find(&s->pages, addr & ~(uint64_t)(SHADOW_PAGE - 1));

		if (to > end)
			to = end;
		if (p)
			drop_in_page(s, p, addr, to);
		addr = to;
	}
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t *shadow_pages_in(const struct shadow *s, uint64_t addr, uint64_t len, size_t *n)
{
	uint64_t *pages = xcalloc(s->pages.n + 1, sizeof(*pages));

	*n = 0;
	for (const struct shadow_page *p = NULL; (p = table_next(&s->pages, p));)
		if (p->addr < addr + len && p->addr + SHADOW_PAGE > addr)
			pages[(*n)++] = p->addr;
	qsort(pages, *n, sizeof(*pages), by_address);
	return pages;
}
