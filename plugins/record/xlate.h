/* SPDX-License-Identifier: MIT */
/*
 * xlate.h: runs the program's code so that each time it comes by one address, the place, a function sees its registers,
 * a few nanoseconds a time: translated, block by block, to code elsewhere. What it does to registers and memory is what
 * the original does. For the calling thread, and in a copy of the process for as long as that goes on.
 */
#ifndef FRED_RECORD_XLATE_H
#define FRED_RECORD_XLATE_H

#include <stdint.h>

/*
 * While this word has another value the function need not be called: found out without leaving the translated code.
 * reg: 0 to 15 as instructions number them. half: only the low 4 bytes, or those at addr. native: this says so too
 * when the recorder has been called since.
 */
enum { XLATE_MEMORY = -1 /* the 8 bytes at addr */, XLATE_HITS = -2 /* the count of hits */ };
struct xlate_filter {
	int reg, half;
	uint64_t addr;
	uint64_t value;
	int set, native;
};

/* How it goes on behind the place: LEAVE: there, in the original code. STEP: the same, with the trap flag set. */
enum xlate_go { XLATE_ON, XLATE_LEAVE, XLATE_STEP };

struct xlate_ops {
	/* Before the instruction at the place. regs: POINT_REGS of point.h; hits: how often it came here, from 1. */
	enum xlate_go (*hit)(void *arg, const uint64_t *regs, uint64_t hits, struct xlate_filter *filter);
	/*
	 * What stands at pc runs in the original code, and so does what comes behind it: a call of the kernel, a trap,
	 * or what is not known. next: where that is; 0: no more can be translated at all.
	 */
	void (*stop)(void *arg, uint64_t pc, uint64_t next);
};

/* The number, as instructions have it, of each general register in gregs[]. */
#define XLATE_REGS 16
extern const uint8_t xlate_reg[XLATE_REGS] __attribute__((visibility("hidden")));

struct xlate;
/* NULL: not on this machine, or for want of memory. */
struct xlate *xlate_new(uint64_t place, const struct xlate_ops *ops, void *arg);
/* The address to go on at instead of pc, with all registers as they are; 0: this cannot be translated. */
uint64_t xlate_enter(struct xlate *x, uint64_t pc);
uint64_t xlate_hits(const struct xlate *x); /* so far */
uint64_t xlate_natives(const struct xlate *x); /* how many calls of the recorder there were */
/* The thread has left the translated code. NULL is fine. */
void xlate_free(struct xlate *x);

#endif
