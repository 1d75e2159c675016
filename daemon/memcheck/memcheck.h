/* SPDX-License-Identifier: MIT */
/*
 * memcheck.h: the consumer of an instrumented replay that looks for memory errors of the heap: accesses outside of the
 * block that was asked for, to freed blocks, frees of what is not allocated, and blocks that nothing points to at the
 * end.
 */
#ifndef FRED_MEMCHECK_MEMCHECK_H
#define FRED_MEMCHECK_MEMCHECK_H

#include "instrument/blocks.h"
#include "instrument/instrument.h"
#include "instrument/stacks.h"
#include "memcheck/families.h"
#include "memcheck/strings.h"
#include "unwritten/follow.h"

enum finding_kind {
	FINDING_OUTSIDE, /* an access in the heap, outside of any block */
	FINDING_FREED, /* to a block that was freed */
	FINDING_DOUBLE_FREE,
	FINDING_INVALID_FREE,
	FINDING_MISMATCH, /* freed by a function that does not belong to the one that has allocated it */
	FINDING_OVERLAP, /* a copy between areas that overlap, by a function that may not */
	FINDING_UNWRITTEN, /* a use of what was never written */
	FINDING_LEAK,
	FINDING_KINDS
};

/* Two findings whose innermost frames are the same, in the same code, are one. */
#define MEMCHECK_SAME_FRAMES 4
#define MEMCHECK_FINDINGS_MAX 2000

struct memory_finding {
	enum finding_kind kind;
	bool writes;
	const char *by; /* the function of libc whose arguments say so; NULL: an access does */
	uint64_t addr, len; /* of the access; what was freed; LEAK: bytes in all; OVERLAP: where to, and bytes */
	uint64_t from; /* OVERLAP */
	uint8_t family; /* MISMATCH: of what frees it */
	enum unwritten_use use; /* UNWRITTEN, and where that comes from */
	struct follow_origin origin;
	struct moment at; /* LEAK: where the first of the blocks was allocated */
	struct heap_piece block; /* nearby; state BLOCK_NONE: none is known */
	uint64_t count; /* how often, from the same stack; LEAK: blocks */
};

struct memcheck {
	struct instrument i;
	struct blocks blocks;
	struct stacks stacks;
	struct strings strings;
	struct families families;
	struct unwritten_follow follow;
	bool follows; /* what was never written */
	bool first; /* stop at the first finding that is an error for certain: memcheck_is_error */
	struct timeline *tl; /* borrowed, while it runs */
	struct {
		uint64_t pc, slot; /* slot: the word that it reads */
		bool call;
	} jump; /* the last call or jump by memory; pc 0: its arguments have been told */
	struct memory_finding *v;
	size_t n, cap;
	uint64_t dropped; /* found, but not kept: there were too many */
	uint64_t unchecked; /* reads by libc's and the loader's functions for strings, see memcheck.c */
	uint64_t unseen; /* of the report, when the heap was read last */
	bool known; /* the heap has been read */
	uint64_t reachable, reachable_blocks; /* at the end */
	bool leaks_known; /* leaks were looked for */
};

/* follows: also look for uses of what was never written. */
void memcheck_init(struct memcheck *m, bool follows);
void memcheck_fini(struct memcheck *m);
/* Checks from one event to another. */
int memcheck_run(struct memcheck *m, struct nav *nav, uint64_t from, uint64_t to, struct err *e);
/* The process stands at the end: adds blocks that nothing points to. */
int memcheck_leaks(struct memcheck *m, struct target *t, struct err *e);
/*
 * Adds a finding, or counts it once more if it is known. *block may be NULL. Returns the new one; NULL: it was known,
 * or there are too many.
 */
struct memory_finding *memcheck_add(struct memcheck *m, enum finding_kind kind, const struct moment *at, bool writes,
				    uint64_t addr, uint64_t len, const struct heap_piece *block);

/*
 * Is it an error for certain? A read beside a block may be harmless; a write there, or a read from a freed block, is
 * wrong.
 */
bool memcheck_is_error(const struct memory_finding *f);

#endif
