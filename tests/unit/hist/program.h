/* SPDX-License-Identifier: MIT */
/* program.h: a made-up program under a made-up debugger: instructions with a depth, some begin a
 * line. */
#ifndef FRED_TESTS_HIST_PROGRAM_H
#define FRED_TESTS_HIST_PROGRAM_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include "hist/decompose.h"
#include "search/hist_search.h"

#define PROGRAM_MAX 20000

struct program {
	uint64_t n; /* positions 0 .. n */
	unsigned depth[PROGRAM_MAX + 1];
	bool line[PROGRAM_MAX + 1]; /* a line begins here */
	bool stop[PROGRAM_MAX + 1]; /* a breakpoint */
	bool bad[PROGRAM_MAX + 1];
	bool unknown[PROGRAM_MAX + 1];

	uint64_t at, base;
	uint64_t execs, restarts;
	uint64_t calls, fail_call;
};

extern const struct hist_ops program_ops;
extern const struct hist_search_ops program_search_ops;

/* A random program: calls, returns, lines of several instructions, breakpoints. */
void program_random(struct program *p, uint64_t n, uint64_t *seed);
uint64_t program_after(const struct program *p, uint64_t at, enum hist_cmd cmd);
/* Where the history leads from the beginning. */
uint64_t program_end(const struct program *p, const struct hist *h);
uint64_t program_random_number(uint64_t *seed);

#endif
