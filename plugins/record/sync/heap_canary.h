/* SPDX-License-Identifier: MIT */
/*
 * heap_canary.h: the layout of a block with --detect, for heap_detect.c and heap_look.c. A block of n bytes:
 *
 *   struct block | n bytes | canaries: to heap_usable_of(n) + 8 | ... | canary |
 *
 * The size in the header has in its upper 16 bits: 0x80 | log2 of the alignment, and 0x80 | a hash of the header, so
 * that a write just in front of the block always changes one of them. Canaries are parts of the word HEAP_CANARY at
 * addresses that 8 divides: a byte is compared with that of its place.
 */
#ifndef FRED_RECORD_HEAP_CANARY_H
#define FRED_RECORD_HEAP_CANARY_H

#include "record/sync/heap.h"

#define LISTED 16u /* bytes of a listed block that are not canaries */

/* ---- the header ---- */

static inline uint64_t tag_of(const struct block *b, uint64_t n, unsigned log)
{
	return heap_tag((uint64_t)b, n, b->cls, b->before, log);
}

static inline unsigned log_of(uint64_t size)
{
	return (unsigned)(size >> HEAP_SIZE_BITS) & 0x7f;
}

static inline int is_tagged(const struct block *b, uint64_t size)
{
	return heap_is_whole(b, (uint64_t)b, size);
}

static inline size_t offset_of(const struct block *b, uint64_t size)
{
	uintptr_t align = 1ul << (log_of(size) & 63), mem = (uintptr_t)(b + 1);

	return log_of(size) ? ((mem + align - 1) & ~(align - 1)) - mem : 0;
}

/* ---- canaries ---- */

static inline uint64_t *words(const struct block *b)
{
	return (uint64_t *)(uintptr_t)(b + 1);
}

/* The bytes of the word at n & ~7 from byte n on. */
static inline uint64_t mask_from(size_t n)
{
	return ~0ull << 8 * (n & 7);
}

static inline const uint8_t *first_byte(const uint64_t *w, uint64_t wrong)
{
	return (const uint8_t *)w + (unsigned)__builtin_ctzll(wrong) / 8;
}

/* The first byte of the canaries from byte lo to n that was changed; 0: none was. */
static inline const uint8_t *wrong_in(const struct block *b, size_t lo, size_t n)
{
	const uint64_t *w = words(b) + lo / 8, *end = words(b) + n / 8;
	uint64_t mask = mask_from(lo);

	for (; w < end; w++, mask = ~0ull)
		if (unlikely((*w ^ HEAP_CANARY) & mask))
			return first_byte(w, (*w ^ HEAP_CANARY) & mask);
	mask &= ~mask_from(n);
	return unlikely((*w ^ HEAP_CANARY) & mask) ? first_byte(w, (*w ^ HEAP_CANARY) & mask) : 0;
}

/* The same after the block's bytes, from byte lo on. */
static inline const uint8_t *wrong_after(struct block *b, size_t lo, size_t n)
{
	const uint8_t *p = wrong_in(b, lo > n ? lo : n, heap_usable_of(n) + 8);
	const uint64_t *end = word_at_end(b);

	if (unlikely(p))
		return p;
	return unlikely(*end != HEAP_CANARY) ? first_byte(end, *end ^ HEAP_CANARY) : 0;
}

static inline size_t filled(size_t n)
{
	return n < HEAP_FILL ? n : HEAP_FILL;
}

/* The first byte of a free block that was changed. lo: LISTED for one that is in a list. */
static inline const uint8_t *wrong_in_free(struct block *b, size_t n, size_t lo)
{
	const uint8_t *p = filled(n) > lo ? wrong_in(b, lo, filled(n)) : 0;

	return likely(!p) ? wrong_after(b, lo, n) : p;
}

/* b's header contains `size`: makes a note, once for each block. */
void detect_damaged(struct block *b, uint64_t size, uint32_t kind, uint32_t when, const uint8_t *at);

#endif
