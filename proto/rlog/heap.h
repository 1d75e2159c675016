/* SPDX-License-Identifier: MIT */
/*
 * heap.h: how the recorder's malloc (plugins/record/sync/heap.c) lays out its blocks, for code that examines them in a
 * replay. In an arena they follow each other, each with a header before the memory that the program gets. The
 * addresses of the arenas are in rlog/replay.h.
 *
 * With --detect (RLOG_MALLOC_DETECT) canaries, words of HEAP_CANARY, stand after each block's bytes: from the first
 * byte that was not asked for, at least 8 bytes. The size in the header has a check in its upper 16 bits. A freed block
 * is filled with canaries, up to HEAP_FILL bytes.
 */
#ifndef FRED_RLOG_HEAP_H
#define FRED_RLOG_HEAP_H

#include <stddef.h>
#include <stdint.h>

#define HEAP_CLASSES 200
#define HEAP_SMALL_MAX 512u
#define HEAP_ARENA_HEAD 65536u /* at the start of the arena of each thread but the first */
#define HEAP_FIRST 16u /* the first block, from there; 0 in recordings of older recorders */
#define HEAP_USED 0x5553u
#define HEAP_FREE 0x4652u
#define HEAP_ALIGNED 0x414cu
/* --detect: the block is about to be used; seen by other threads that examine it */
#define HEAP_BUSY 0x4259u

struct heap_block { /* is right before the memory that the program gets */
	uint16_t magic;
	uint16_t cls;
	/* distance back to the header of the block before this one, if that is large; else, and if there is none, 0 */
	uint32_t before;
	/* HEAP_USED: what was asked for; HEAP_ALIGNED: distance to the real block's memory. See heap_block_size */
	uint64_t size;
};

#define HEAP_SIZE_BITS 48
#define HEAP_SIZE_MASK ((1ull << HEAP_SIZE_BITS) - 1)
#define HEAP_CANARY 0x9de7b5a9d3c1f18bull /* at addresses that 8 divides; no byte of it is 0 or a letter */
#define HEAP_FILL 128u

/*
 * A word that looks like glibc's size field of a small chunk after a chunk in use. It follows the usable bytes of each
 * block below HEAP_MAPPED_MIN, at the end of the block's memory. Not with --detect.
 */
#define HEAP_WORD 0x21ull
#define HEAP_MAPPED_MIN (128u << 10) /* from this size on glibc gives each block a mapping of its own */

/* How many bytes the program may use when it asks for n: as many as with glibc. */
static inline size_t heap_usable_of(size_t n)
{
	return n <= 24 ? 24 : ((n + 23) & ~15ul) - 8;
}

static inline size_t heap_block_size(const struct heap_block *b)
{
	return b->size & HEAP_SIZE_MASK;
}

/* The upper 16 bits of the size in the header at `header`, of a block of n bytes; log: log2 of its alignment, 0: none.
 */
static inline uint64_t heap_tag(uint64_t header, uint64_t n, unsigned cls, uint32_t before, unsigned log)
{
	uint64_t h = (header >> 4) + n * 0x9e3779b97f4a7c15ull;

	h ^= (uint64_t)cls << 20 ^ (uint64_t)before << 29 ^ (uint64_t)log << 3;
	h *= 0xd6e8feb86659fd93ull;
	return ((h >> 56 | 0x80) << 8 | 0x80 | log) << HEAP_SIZE_BITS;
}

/* Is the header b, whose address is `header`, undamaged? */
static inline int heap_is_whole(const struct heap_block *b, uint64_t header, uint64_t size)
{
	return b->cls < HEAP_CLASSES &&
	       (size & ~HEAP_SIZE_MASK) == heap_tag(header, size & HEAP_SIZE_MASK, b->cls, b->before,
						    (unsigned)(size >> HEAP_SIZE_BITS) & 0x7f);
}

static inline unsigned heap_class_of(size_t n)
{
	unsigned log, sub;

	if (n <= HEAP_SMALL_MAX)
		return n ? (unsigned)((n - 1) / 16) : 0;
	log = 63 - (unsigned)__builtin_clzl(n - 1); /* 9 for 513..1024 */
	sub = (unsigned)((n - 1) >> (log - 2)) & 3;
	return HEAP_SMALL_MAX / 16 + (log - 9) * 4 + sub;
}

static inline size_t heap_class_size(unsigned c)
{
	unsigned log, sub;

	if (c < HEAP_SMALL_MAX / 16)
		return (c + 1) * 16ul;
	c -= HEAP_SMALL_MAX / 16;
	log = c / 4 + 9;
	sub = c % 4;
	return (1ul << log) + ((sub + 1ul) << (log - 2));
}

#endif
