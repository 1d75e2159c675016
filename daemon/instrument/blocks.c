/* SPDX-License-Identifier: MIT */
/* blocks.c: see blocks.h. */
#include "instrument/blocks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/str.h"
#include "rlog/heap.h"
#include "trace/trace.h"

#define GRAIN 8 /* how many bytes of the program one byte of the map is for */
#define CHUNK (1ull << 20) /* how much of the program's memory a chunk of the map is for */
#define LO BLOCKS_LO
#define HI BLOCKS_HI
#define CHUNKS ((HI - LO) / CHUNK)
#define MAP_BYTES (CHUNKS * sizeof(uint8_t *))

/*
 * A byte of the map says how many of the 8 bytes may be accessed, counted from the first one; or FREED: none, any more.
 */
#define FREED 0x80

void blocks_init(struct blocks *b)
{
	memset(b, 0, sizeof(*b));
	table_init(&b->pieces, sizeof(struct heap_piece));
	b->map = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b->map == MAP_FAILED)
		abort();
}

void blocks_fini(struct blocks *b)
{
	if (!b->map)
		return;
	for (size_t i = 0; i < b->chunks; i++)
		free(b->chunk[i].map);
	free(b->chunk);
	munmap(b->map, MAP_BYTES);
	table_fini(&b->pieces);
	memset(b, 0, sizeof(*b));
}

/* ---- the map ---- */

static uint8_t look(const struct blocks *b, uint64_t addr)
{
	const uint8_t *c = b->map[(addr - LO) / CHUNK];

	return c ? c[(addr - LO) % CHUNK / GRAIN] : 0;
}

static uint8_t *place(struct blocks *b, uint64_t addr)
{
	uint8_t **c = &b->map[(addr - LO) / CHUNK];

	if (!*c) {
		*c = xcalloc(CHUNK / GRAIN, 1);
		b->chunk = xreallocarray(b->chunk, b->chunks + 1, sizeof(*b->chunk));
		b->chunk[b->chunks++] = (struct blocks_chunk){LO + (addr - LO) / CHUNK * CHUNK, *c};
		b->above |= !REPORT_HEAP_PART(addr);
	}
	return &(*c)[(addr - LO) % CHUNK / GRAIN];
}

/* Makes [at, at + len) accessible. `at` is a multiple of 8, and no other block begins in the last 8 bytes. */
static void allow(struct blocks *b, uint64_t at, uint64_t len)
{
	for (; len >= GRAIN; at += GRAIN, len -= GRAIN)
		*place(b, at) = GRAIN;
	*place(b, at) = (uint8_t)len;
}

static void forbid(struct blocks *b, uint64_t at, uint64_t len, uint8_t how)
{
	for (uint64_t end = at + len; at < end; at += GRAIN)
		*place(b, at) = how;
}

bool blocks_allow(const struct blocks *b, uint64_t addr, uint64_t len, uint64_t *bad)
{
	uint64_t end = addr + len;

	for (uint64_t at = addr; at < end; at = (at | (GRAIN - 1)) + 1) {
		uint64_t in = at & (GRAIN - 1), to = end - (at - in);
		uint8_t have;

		if (!blocks_is_heap(at))
			return true;
		have = look(b, at);
		if (have == GRAIN)
			continue;
		if (have == FREED)
			have = 0;
		if (to > GRAIN)
			to = GRAIN;
		if (to > have) {
			*bad = at - in + (in > have ? in : have);
			return false;
		}
	}
	return true;
}

bool blocks_is_freed(const struct blocks *b, uint64_t addr)
{
	return blocks_is_heap(addr) && look(b, addr) == FREED;
}

/* ---- the shadow ---- */

#define PIECE 4096u /* bytes of the shadow that are written at once */

uint64_t blocks_shadow_bytes(const struct blocks *b)
{
	return b->chunks * (CHUNK / GRAIN);
}

/* false: all bytes are 0. */
static bool fill(uint8_t *to, const uint8_t *from)
{
	bool any = false;

	for (unsigned k = 0; k < PIECE; k++) {
		to[k] = from[k] == GRAIN;
		any |= to[k];
	}
	return any;
}

int blocks_write_shadow(const struct blocks *b, pid_t pid, uint64_t at, struct err *e)
{
	uint8_t piece[PIECE];

	for (size_t c = 0; c < b->chunks; c++) {
		uint64_t to = at + REPORT_SHADOW_INDEX(b->chunk[c].addr);

		for (uint64_t k = 0; k < CHUNK / GRAIN; k += PIECE)
			if (fill(piece, b->chunk[c].map + k) && trace_write(pid, to + k, piece, PIECE, e))
				return -1;
	}
	return 0;
}

/* ---- the table ---- */

struct heap_piece *blocks_at(const struct blocks *b, uint64_t at)
{
	struct heap_piece *p = table_find(&b->pieces, at);

	return p && p->state != BLOCK_NONE ? p : NULL;
}

static uint64_t distance(const struct heap_piece *p, uint64_t addr)
{
	if (addr < p->at)
		return p->at - addr;
	return addr < p->at + p->len ? 0 : addr - (p->at + p->len) + 1;
}

#define NEAR 4096

struct heap_piece *blocks_near(const struct blocks *b, uint64_t addr)
{
	struct heap_piece *best = NULL;

	for (struct heap_piece *p = NULL; (p = table_next(&b->pieces, p));) {
		uint64_t d = p->state != BLOCK_NONE ? distance(p, addr) : NEAR + 1;

		/* of two that are equally near, an allocated one is better */
		if (d <= NEAR && (!best || d < distance(best, addr) ||
				  (d == distance(best, addr) && p->state == BLOCK_LIVE && best->state != BLOCK_LIVE)))
			best = p;
	}
	return best;
}

void blocks_add(struct blocks *b, uint64_t at, uint64_t len, const struct moment *made)
{
	struct heap_piece *p;

	if (!blocks_is_heap(at) || len > HI - at)
		return;
	b->reused += blocks_is_freed(b, at);
	p = table_add(&b->pieces, at);
	*p = (struct heap_piece){.at = at, .len = len, .state = BLOCK_LIVE, .made = *made};
	allow(b, at, len);
}

void blocks_free(struct blocks *b, struct heap_piece *p, const struct moment *freed)
{
	forbid(b, p->at, p->len, FREED);
	p->state = BLOCK_FREED;
	p->freed = *freed;
}

void blocks_resize(struct blocks *b, struct heap_piece *p, uint64_t len)
{
	if (len < p->len)
		forbid(b, p->at + (len & ~(uint64_t)(GRAIN - 1)), p->len - (len & ~(uint64_t)(GRAIN - 1)), 0);
	p->len = len;
	allow(b, p->at, len);
}

void blocks_move(struct blocks *b, struct heap_piece *p, uint64_t at)
{
	struct moment made = p->made;
	uint8_t family = p->family;
	uint64_t end = p->at + p->len;

	forbid(b, p->at, p->len, 0);
	p->state = BLOCK_NONE;
	if (at < end)
		blocks_add(b, at, end - at, &made);
	p = blocks_at(b, at);
	if (p)
		p->family = family;
}

/* ---- reading the process's heap ---- */

static const struct moment unknown;

/* Adds the block behind this header as it is in memory. */
static void see(struct blocks *b, uint64_t at, const struct heap_block *h)
{
	struct heap_piece *p = blocks_at(b, at);

	if (h->magic == HEAP_USED && (!p || p->state != BLOCK_LIVE || p->len != heap_block_size(h)))
		blocks_add(b, at, heap_block_size(h), &unknown);
	else if (h->magic == HEAP_FREE && p && p->state == BLOCK_LIVE)
		blocks_free(b, p, &unknown);
}

/* Did memalign give the program a part of this block? Then the header says nothing about that part. */
static bool is_aligned(const struct blocks *b, uint64_t at, uint64_t len)
{
	for (uint64_t q = at + sizeof(struct heap_block); q < at + len && q < at + 2 * 4096; q += 16) {
		const struct heap_piece *p = blocks_at(b, q);

		if (p && p->state == BLOCK_LIVE)
			return true;
	}
	return false;
}

/* Reads blocks up to the first place without a header: memory that was not given out yet is 0, or not mapped. */
static void read_arena(struct blocks *b, pid_t pid, uint64_t at)
{
	struct heap_block h;
	struct err ignored;

	while (!trace_read(pid, at, &h, sizeof(h), &ignored) && (h.magic == HEAP_USED || h.magic == HEAP_FREE) &&
	       h.cls < HEAP_CLASSES) {
		uint64_t p = at + sizeof(h), size = heap_class_size(h.cls);

		if (h.magic == HEAP_FREE || !is_aligned(b, p, size))
			see(b, p, &h);
		at = p + size;
	}
}

void blocks_read(struct blocks *b, pid_t pid)
{
	struct heap_block first;

	/* an arena that does not exist has no header */
	read_arena(b, pid, LO + HEAP_FIRST);
	read_arena(b, pid, SHIM_HEAP_ADDR + HEAP_FIRST);
	for (uint64_t i = 1; i < RLOG_MAX_THREADS; i++) {
		uint64_t at = SHIM_HEAP_ADDR + (i << 32) + HEAP_ARENA_HEAD + HEAP_FIRST;
		struct err ignored;

		if (trace_read(pid, at, &first, sizeof(first), &ignored))
			continue;
		read_arena(b, pid, at);
	}
}
