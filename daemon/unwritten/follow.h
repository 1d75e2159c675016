/* SPDX-License-Identifier: MIT */
/*
 * follow.h: follows what was never written (unwritten.h) through an instrumented replay: the instructions that it
 * tells, blocks of the heap, what events and functions of the recorder write, and where all that comes from.
 */
#ifndef FRED_UNWRITTEN_FOLLOW_H
#define FRED_UNWRITTEN_FOLLOW_H

#include "instrument/blocks.h"
#include "instrument/imports.h"
#include "instrument/instrument.h"
#include "unwritten/unwritten.h"

/* Where memory began that was never written. */
struct follow_origin {
	bool heap; /* a block, else a frame of the stack */
	struct moment at;
};

struct follow_code; /* what is known of an instruction */

struct follow_ops {
	/* Returns the position and stack of this instruction. */
	struct moment (*here)(void *ctx, uint64_t pc, uint64_t hits);
	/* OUTPUT: function is given it, whose call is the last one, pc is 0, and `at` is the first byte, 0: it is none
	 * of memory. */
	void (*uses)(void *ctx, enum unwritten_use use, const char *function, const struct follow_origin *origin,
		     uint64_t pc, uint64_t hits, uint64_t at);
};

struct unwritten_follow {
	const struct follow_ops *ops;
	void *ctx;
	struct instrument *i;
	struct unwritten u;
	struct follow_origin *origins; /* by number; number 0 is none */
	size_t norigins, origins_cap;
	uint32_t *by_stack; /* of blocks, by the number of their stack */
	size_t nby_stack;
	struct follow_code *codes; /* by instrument_insn.mark - 1 */
	size_t ncodes, codes_cap;
	struct follow_pending *pending; /* by thread: the instruction that is being told */
	uint64_t now_pc, now_hits; /* of the instruction that is executed */
	uint64_t moved_to, moved_len; /* the new block of a realloc, up to its free; 0: none */
	struct imports imports;
};

void follow_init(struct unwritten_follow *f, struct instrument *i, const struct follow_ops *ops, void *ctx);
void follow_fini(struct unwritten_follow *f);

/* From the functions of struct instrument_ops. */
/* Code has gone: what is known by its addresses is forgotten. */
void follow_unmapped(struct unwritten_follow *f);
void follow_begun(struct unwritten_follow *f);
void follow_insn(struct unwritten_follow *f, struct instrument_insn *x, uint64_t sp);
void follow_values(struct unwritten_follow *f, uint64_t operand, uint64_t other);
/* which: 0 or 1, of UNWRITTEN_BYTES */
void follow_vector(struct unwritten_follow *f, unsigned which, const uint8_t *bytes);
void follow_access(struct unwritten_follow *f, const struct instrument_access *a);
/* A call by this word; sp: where its return address will stand. */
void follow_call(struct unwritten_follow *f, uint64_t slot, uint64_t sp);
/* A call of a function of the recorder's, perhaps the call before, with the registers of REPORT_ARGS. */
void follow_native(struct unwritten_follow *f, const uint64_t *arg);
/* Something that is not reported has written here. */
void follow_written(struct unwritten_follow *f, uint64_t addr, uint64_t len);
/* A system call reads here: it is output, if its function is one that hands memory of the program's to the kernel. */
void follow_output(struct unwritten_follow *f, uint64_t addr, uint64_t len);
/* This function is given memory whose bytes decide what it does. */
void follow_given(struct unwritten_follow *f, const char *function, uint64_t addr, uint64_t len);
/* The last reported instruction returns from a function whose result counts as written. */
void follow_returned(struct unwritten_follow *f);
/* A change of the heap, before blocks.h is told of it. */
void follow_alloc(struct unwritten_follow *f, uint64_t at, uint64_t len, unsigned block, const struct moment *made);
void follow_resize(struct unwritten_follow *f, const struct heap_piece *p, uint64_t len, unsigned block);
void follow_free(struct unwritten_follow *f, const struct heap_piece *p);
/* Event n has taken effect. */
int follow_event(struct unwritten_follow *f, struct timeline *tl, uint64_t n, struct err *e);

#endif
