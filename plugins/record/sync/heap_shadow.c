/* SPDX-License-Identifier: MIT */
/*
 * heap_shadow.c: see heap_shadow.h. Translated code leaves out the entries of accesses that the shadow allows. So where
 * it is not certain that the program may access something, the byte is 0, and the worker decides.
 */
#include "record/sync/heap_shadow.h"
#include "record/sync/heap.h"

#include <string.h>

#define GRAIN 8u

static uint8_t *byte_of(uint64_t addr)
{
	return (uint8_t *)(REPLAY_SHADOW_ADDR + REPORT_SHADOW_INDEX(addr));
}

/* Forbids all bytes of [from, to). */
static void forbid(uint64_t from, uint64_t to)
{
	if (from < to)
		memset(byte_of(from), 0, (to - from + GRAIN - 1) / GRAIN);
}

static void allow(uint64_t at, uint64_t n)
{
	memset(byte_of(at), 1, n / GRAIN);
	if (n % GRAIN)
		*byte_of(at + n) = 0;
}

/* The end of the block in which the program has p; p: there is no such block. */
static uint64_t end_of(uint64_t p)
{
	const struct block *b = (const struct block *)p - 1;

	if (b->magic == MAGIC_ALIGNED)
		b = (const struct block *)(p - heap_block_size(b)) - 1;
	return b->magic == MAGIC_USED && b->cls < CLASSES ? (uint64_t)(b + 1) + class_size(b->cls) : p;
}

void heap_shadow(enum replay_report_kind kind, uint64_t a, uint64_t b)
{
	if (!is_heap((const void *)a) || !REPORT_HEAP_PART(a) || a % 16)
		return;
	if (kind == REPORT_ALIGN) {
		forbid(a, b);
		return;
	}
	if (kind != REPORT_ALLOC)
		forbid(a + (kind == REPORT_RESIZE ? b & ~(uint64_t)(GRAIN - 1) : 0), end_of(a));
	if (kind != REPORT_FREE)
		allow(a, b);
}
