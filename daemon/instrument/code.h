/* SPDX-License-Identifier: MIT */
/*
 * code.h: which code a process has mapped, and had before: a library that is unloaded leaves its addresses to another
 * one, so an address alone does not say which instruction is meant. Code is where instructions were met: a mapping's
 * rights do not say it, for a copy may not execute the program's code (visibility/program_code.h).
 */
#ifndef FRED_INSTRUMENT_CODE_H
#define FRED_INSTRUMENT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Mappings of a file that are one behind the other, as in the file, are one. */
struct code_mapping {
	uint64_t lo, hi, offset, inode;
	uint64_t used_lo, used_hi; /* instructions were met in [used_lo, used_hi); 0: none */
	uint32_t from, until; /* it was there from this state of the code on, up to before that one; 0: it is there */
	bool changes; /* without a call of the kernel: it is writable, too, or shared, or of no file */
	char *path;
};

struct code_mappings {
	struct code_mapping *v;
	size_t n, cap;
};

struct code {
	struct code_mappings now_there; /* by address */
	struct code_mappings gone; /* those in which instructions were met */
	uint32_t now; /* the state's number: goes up when some of the code has gone */
};

/* What is mapped now; of zeros at first. Has some of the code that was there before gone? 0 or 1, -1: e is set. */
int code_see(struct code *c, pid_t pid, struct err *e);
void code_fini(struct code *c);
/* An instruction was met at addr. Returns where; NULL: nothing that is known. */
const struct code_mapping *code_use(struct code *c, uint64_t addr);
/* What was mapped at this address in that state; NULL: nothing that is known. */
const struct code_mapping *code_at(const struct code *c, uint64_t addr, uint32_t state);
/* Was the code at this address the same in both states? */
bool code_is_same(const struct code *c, uint64_t addr, uint32_t a, uint32_t b);

#endif
