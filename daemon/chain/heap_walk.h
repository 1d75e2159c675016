/* SPDX-License-Identifier: MIT */
/* heap_walk.h: the blocks of one of the arenas of the recorder's malloc (rlog/heap.h), in the order of their addresses.
 */
#ifndef FRED_CHAIN_HEAP_WALK_H
#define FRED_CHAIN_HEAP_WALK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "rlog/heap.h"

#define HEAP_WALK_CHUNK 65536u

struct heap_walk {
	pid_t pid;
	uint64_t at; /* of the header */
	struct heap_block b; /* the header */
	uint64_t next, limit;
	uint64_t lo, hi; /* the part of the memory that is in chunk */
	bool first;
	uint8_t chunk[HEAP_WALK_CHUNK];
};

/* Moves to the place before the first block of the arena that addr is in. false: it is in no arena. */
bool heap_walk_begin(struct heap_walk *w, pid_t pid, uint64_t addr);
/* Moves to the next block. false: there is no block at w->at. */
bool heap_walk_next(struct heap_walk *w);
/* The end of the block. */
uint64_t heap_walk_end(const struct heap_walk *w);

#endif
