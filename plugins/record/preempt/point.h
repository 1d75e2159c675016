/* SPDX-License-Identifier: MIT */
/*
 * point.h: a place inside a computation that makes no events, as a PREEMPT record describes it.
 *
 * No counter tells how far a thread has got, so the place is known by what the thread's state is there: registers, the
 * stack above, the program's own data, and what those point to. Of what is beyond the first part of the stack and of
 * the data, and of the pages around what is pointed to, there are hashes. Where a replay does not have what was
 * recorded in any case (ignored.h), nothing is looked at.
 *
 * Not all of this identifies the place: dead registers and stack slots hold what the shim or the kernel left there,
 * which differs between recording and replay. What has changed in the computation has been written by the program: so
 * in a replay (seek.h) the words that change must be as recorded. Of the moments at which they are, the place is the
 * one at which the fewest of the other words differ, without those where the replay's translated code has left an
 * address of its own. If all of this is equal at two moments, either is taken.
 */
#ifndef FRED_RECORD_POINT_H
#define FRED_RECORD_POINT_H

#include "record/core/regs.h"
#include "record/core/state.h"

#include <ucontext.h>

#include "rlog/replay.h"

struct point_region {
	uint64_t addr; /* aligned to 8 */
	uint64_t words;
};

#define POINT_BLOCKS 256u

struct point_block {
	uint64_t addr, bytes; /* multiples of 8 */
	uint64_t hash;
};

/* The payload of a PREEMPT record. The regions follow, then the words of all of them, then the blocks. */
struct point {
	/* how often this address was passed since the event before: then nothing else is needed; 0: not known */
	uint64_t hits;
	uint64_t run_ns, least_ns; /* CPU time since the event before: about, and at least */
	uint64_t regions, words, blocks;
	uint64_t stack_lo, stack_hi; /* the part of the stack in which regions may lie */
	uint64_t reg[POINT_REGS];
};

/* Memory of a thread, at an address of its own. NULL: there is none. */
void *point_area(const struct thr *t);
#define POINT_AREA_BYTES (1u << SHIM_POINT_SHIFT)

int point_traced(void); /* is this thread traced? */
void point_regs(const ucontext_t *uc, uint64_t *regs);
uint64_t point_hash(uint64_t addr, uint64_t bytes);
/* Recording: the state of the thread that was interrupted here. Its length; NULL: no memory. */
const struct point *point_look(struct thr *t, const ucontext_t *uc, uint64_t *len);
/*
 * A hardware breakpoint of the calling thread, by perf_event_open(2): SIGTRAP at every `period`-th hit; the hits in
 * between cost much less. Returns its descriptor; negative: -errno.
 */
#define TRAP_PERF_ 6 /* the si_code of that SIGTRAP; older headers of libc do not have it */
int point_breakpoint(uint64_t pc, uint64_t period);
/*
 * Was an instruction interrupted in its middle (a `rep`)? That is no place: its address is reached only at its start.
 */
int point_in_middle(const ucontext_t *uc);

#endif
