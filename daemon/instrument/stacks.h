/* SPDX-License-Identifier: MIT */
/* stacks.h: call stacks by number, each stored once; and moments of a recording at which something was done. */
#ifndef FRED_INSTRUMENT_STACKS_H
#define FRED_INSTRUMENT_STACKS_H

#include <stddef.h>
#include <stdint.h>

#define STACKS_DEPTH 32 /* frames that are kept, from the innermost */

/* When and where something was done, such as an access or the allocation of a block. */
struct moment {
	uint64_t event, pc, hits; /* the position; pc 0: the event alone */
	uint32_t thread; /* ordinal; 0: unknown, since it was before the replayed part of the timeline */
	uint32_t stack; /* the number of its call stack */
	uint32_t code; /* the state of the code then (code.h) */
};

struct kept_stack {
	uint32_t n;
	uint64_t pc[]; /* the innermost first: of the instruction, then of the calls */
};

struct stacks {
	struct kept_stack **v; /* number 0 is the empty one */
	size_t n, cap;
	uint32_t *slot; /* hash table of numbers */
	size_t slots;
};

void stacks_fini(struct stacks *s);
/* The number of this stack; a new one is added. */
uint32_t stacks_number(struct stacks *s, const uint64_t *pc, uint32_t n);

#endif
