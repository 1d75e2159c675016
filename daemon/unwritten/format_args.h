/* SPDX-License-Identifier: MIT */
/* format_args.h: which arguments of printf and the like were never written, as their format uses them. */
#ifndef FRED_UNWRITTEN_FORMAT_ARGS_H
#define FRED_UNWRITTEN_FORMAT_ARGS_H

#include "unwritten/unwritten.h"

struct format_args {
	struct unwritten *u;
	uint32_t thread;
	const uint64_t *arg; /* the registers of REPORT_ARGS */
	unsigned next, vectors; /* the number of the next argument, and of the next floating-point number */
	/* One of them, or what a pointer to characters leads to (at: where that is, else 0). */
	void (*given)(void *ctx, uint32_t origin, uint64_t at);
	void *ctx;
};

void format_args_see(struct format_args *m, const char *text);

#endif
