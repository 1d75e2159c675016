/* SPDX-License-Identifier: MIT */
/*
 * heap.h: how the recorder's malloc (plugins/record/sync/heap.c) lays out its blocks, for who looks at them in a
 * replay: in an arena they follow each other, each with a header in front of the memory that the program gets. The
 * addresses of the arenas are in rlog/replay.h.
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

struct heap_block { /* right before the memory that the program gets */
	uint16_t magic;
	uint16_t cls;
	uint32_t before; /* its distance from the header of the block before it, if that one is large; 0: it is not, or
			    has none */
	uint64_t size; /* HEAP_USED: what was asked for; HEAP_ALIGNED: distance to the real block's memory */
};

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
