/* SPDX-License-Identifier: MIT */
/*
 * xlate.h: runs the program's code so that each time it comes by one address a function sees its registers, a few
 * nanoseconds a time: translated, block by block, to code elsewhere. In a process that is thrown away (scout.c).
 */
#ifndef FRED_RECORD_XLATE_H
#define FRED_RECORD_XLATE_H

#include <stdint.h>

/*
 * While this word has another value the function need not be called: found out without leaving the translated code.
 * reg: 0 to 15 as instructions number them, or -1: the 8 bytes at addr. half: only the low 4 bytes, or those at addr.
 */
struct xlate_filter {
	int reg, half;
	uint64_t addr;
	uint64_t value;
	int set;
};

struct xlate_ops {
	/* Before the instruction at the place. regs: POINT_REGS of point.h; hits: how often it came here, from 1. */
	void (*hit)(const uint64_t *regs, uint64_t hits, struct xlate_filter *filter);
	/* Neither returns: this code cannot be translated; it is about to call the kernel, or to trap. */
	void (*stop)(const char *why);
	void (*kernel)(void);
};

/* The number, as instructions have it, of each general register in gregs[]. */
#define XLATE_REGS 16
extern const uint8_t xlate_reg[XLATE_REGS] __attribute__((visibility("hidden")));

/*
 * Makes ready to run from pc. The address to go on at instead of it, with all registers as they are, or 0. Whoever goes
 * there has no way back.
 */
uint64_t xlate_begin(uint64_t pc, uint64_t place, const struct xlate_ops *ops);

#endif
