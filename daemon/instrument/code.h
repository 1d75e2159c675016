/* SPDX-License-Identifier: MIT */
/*
 * code.h: which code a process has mapped, now and earlier: after a library is unloaded, another one may get its
 * addresses, so an address alone does not identify an instruction. A mapping counts as code if instructions were met
 * there; its rights do not show it, as a copy may not execute the program's code (visibility/program_code.h).
 */
#ifndef FRED_INSTRUMENT_CODE_H
#define FRED_INSTRUMENT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* A mapping, together with those right behind it that continue the same file, or are anonymous as well. */
struct code_mapping {
	uint64_t lo, hi, offset, inode;
	uint64_t used_lo, used_hi; /* instructions were met in [used_lo, used_hi); 0: none */
	uint32_t from, until; /* it existed in the states [from, until) of the code; until 0: it still exists */
	bool changes; /* its code may change without a system call: it is writable, shared or anonymous */
	char *path;
};

struct code_mappings {
	struct code_mapping *v;
	size_t n, cap;
};

struct code {
	struct code_mappings now_there; /* by address */
	struct code_mappings gone; /* unmapped; only those in which instructions were met */
	uint32_t now; /* the number of the present state: incremented when some code has gone */
};

/* Reads what is mapped now; *c is zeroed at first. Has some of the code that was there gone? 0 or 1, -1: e is set. */
int code_see(struct code *c, pid_t pid, struct err *e);
void code_fini(struct code *c);
/* An instruction was met at addr. Returns its mapping; NULL: none is known. */
const struct code_mapping *code_use(struct code *c, uint64_t addr);
/* The mapping that was at this address in that state; NULL: none is known. */
const struct code_mapping *code_at(const struct code *c, uint64_t addr, uint32_t state);
/* Was the code at this address the same in both states? */
bool code_is_same(const struct code *c, uint64_t addr, uint32_t a, uint32_t b);

#endif
