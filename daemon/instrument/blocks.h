/* SPDX-License-Identifier: MIT */
/*
 * blocks.h: the heap as the program sees it: which bytes of the recorder's arenas (rlog/heap.h) belong to an allocated
 * block (as many as were asked for), and what is known about each block.
 */
#ifndef FRED_INSTRUMENT_BLOCKS_H
#define FRED_INSTRUMENT_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/table.h"
#include "instrument/stacks.h"
#include "rlog/replay.h"

enum block_state { BLOCK_NONE = 0, BLOCK_LIVE, BLOCK_FREED };

struct heap_piece {
	uint64_t at, len;
	enum block_state state;
	bool reached; /* used by leaks.c */
	uint8_t family; /* for the consumer: which function allocated it; 0 at first */
	struct moment made, freed;
};

struct blocks {
	struct table pieces; /* of struct heap_piece, by address */
	uint8_t **map; /* by pieces of the arenas: what is accessible, a byte for 8 */
	struct blocks_chunk {
		uint64_t addr; /* in the arenas */
		uint8_t *map;
	} * chunk; /* the pieces of the map that exist */
	size_t chunks;
	uint64_t reused; /* blocks that were added where a freed one had been */
	bool above; /* some blocks are not in the part of the arenas that filters know (REPORT_HEAP_PART) */
};

/* Where the arenas are: [BLOCKS_LO, BLOCKS_HI). */
#define BLOCKS_LO SHIM_HEAP_MAIN_ADDR
#define BLOCKS_HI (SHIM_HEAP_ADDR + ((uint64_t)RLOG_MAX_THREADS << 32))

void blocks_init(struct blocks *b);
void blocks_fini(struct blocks *b);

/* Is addr in one of the arenas? */
static inline bool blocks_is_heap(uint64_t addr)
{
	return addr >= BLOCKS_LO && addr < BLOCKS_HI;
}
/* May all of [addr, addr + len), in the arenas, be accessed? *bad: the first byte that may not. */
bool blocks_allow(const struct blocks *b, uint64_t addr, uint64_t len, uint64_t *bad);
/* Was this byte part of a block that has been freed? */
bool blocks_is_freed(const struct blocks *b, uint64_t addr);

/* The block that begins at this address, or began there; NULL: none. Valid up to the next blocks_add. */
struct heap_piece *blocks_at(const struct blocks *b, uint64_t at);
/* The block that contains addr, or the nearest one of those around it; NULL: there is none. */
struct heap_piece *blocks_near(const struct blocks *b, uint64_t addr);

void blocks_add(struct blocks *b, uint64_t at, uint64_t len, const struct moment *made);
void blocks_free(struct blocks *b, struct heap_piece *p, const struct moment *freed);
void blocks_resize(struct blocks *b, struct heap_piece *p, uint64_t len);
/* The block now begins at `at`, inside its memory; its end is unchanged. */
void blocks_move(struct blocks *b, struct heap_piece *p, uint64_t at);

/*
 * Brings what is known up to date with the arenas of a stopped process: blocks that are missing are added, and those
 * that are no longer allocated are freed, without a place.
 */
void blocks_read(struct blocks *b, pid_t pid);

/*
 * Writes a shadow of the heap (rlog/report.h) to this address in a stopped process, where all bytes are 0. Not possible
 * if b->above.
 */
int blocks_write_shadow(const struct blocks *b, pid_t pid, uint64_t at, struct err *e);
uint64_t blocks_shadow_bytes(const struct blocks *b);

#endif
