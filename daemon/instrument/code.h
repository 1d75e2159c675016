/* SPDX-License-Identifier: MIT */
/*
 * code.h: which code a process has mapped, and had before: a library that is unloaded leaves its addresses to another
 * one, so an address alone does not say which instruction is meant.
 */
#ifndef FRED_INSTRUMENT_CODE_H
#define FRED_INSTRUMENT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct code_mapping {
	uint64_t lo, hi, offset, inode;
	uint32_t from, until; /* it was there from this state of the code on, up to before that one; 0: it is there */
	bool changes; /* without a call of the kernel: it is writable, too, or shared */
	bool seen;
	char *path;
};

struct code {
	struct code_mapping *v;
	size_t n, cap;
	uint32_t now; /* the state's number: goes up when some of the code has gone */
};

/* What is mapped now; of zeros at first. Has some of what was mapped before gone? 0 or 1, -1: e is set. */
int code_see(struct code *c, pid_t pid, struct err *e);
void code_fini(struct code *c);
/* What was mapped at this address in that state; NULL: nothing that is known. */
const struct code_mapping *code_at(const struct code *c, uint64_t addr, uint32_t state);

#endif
