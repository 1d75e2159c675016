/* SPDX-License-Identifier: MIT */
/*
 * slice.h: the backward dynamic slice of what was executed: from its last instructions back, all instructions whose
 * results reached them, through registers and memory. (Dynamic slicing: Korel and Laski; BugNet, section 6. Saving and
 * restoring registers for a caller is left out, as in DrDebug, CGO 2014.) Pure.
 */
#ifndef FRED_EXECUTED_SLICE_H
#define FRED_EXECUTED_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "insn/insn.h"

#define SLICE_THREADS 65536u
#define SLICE_OUTSIDE UINT32_MAX /* no instruction: memory got a value from outside of the program */
#define SLICE_RETURNED (UINT32_MAX - 1) /* no instruction: a call of the recorder returned, and set registers */

/* An executed instruction. */
struct slice_done {
	uint32_t insn; /* number of its struct insn_regs, or one of the above */
	uint32_t event; /* since the window's first */
	uint32_t hits;
	uint16_t thread;
	uint8_t accesses; /* how many of `accesses` are its own */
	uint8_t in; /* of the slice */
};

struct slice_access {
	uint64_t addr;
	uint32_t len;
	bool reads, writes;
};

struct slice {
	struct insn_regs *insns;
	size_t ninsns, insns_cap;
	struct slice_done *done; /* in the order of execution */
	size_t n, cap;
	struct slice_access *accesses; /* in the same order */
	size_t naccesses, accesses_cap;
	uint32_t *
		/* by index in done: the branch or call on which its execution depended (control.h); NULL: not wanted */
		control;
	size_t control_cap;
	/* results */
	uint64_t in; /* instructions of the slice */
	uint64_t by_control; /* of them: branches and calls that are in the slice only by control dependence */
	uint64_t words, words_in; /* of 8 bytes that were accessed, in all and by the slice */
};

static inline bool slice_is_insn(const struct slice_done *d)
{
	return d->insn < SLICE_RETURNED;
}

void slice_fini(struct slice *s);
/* The number of a new instruction. */
uint32_t slice_add_insn(struct slice *s, const struct insn_regs *r);
void slice_add(struct slice *s, const struct slice_done *d);
/* An access of the instruction that was added last. */
void slice_add_access(struct slice *s, uint64_t addr, uint64_t len, bool reads, bool writes);
/*
 * The instruction that was added last was executed because of the one with this index; CONTROL_NONE: because of none.
 */
void slice_add_control(struct slice *s, uint32_t index);
/* Marks the slice of the last `criterion` instructions, which are in it. */
void slice_compute(struct slice *s, size_t criterion);

#endif
