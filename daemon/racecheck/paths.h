/* SPDX-License-Identifier: MIT */
/* paths.h: nested calls, as a tree: a number for each way from a thread's first function to a call. */
#ifndef FRED_RACECHECK_PATHS_H
#define FRED_RACECHECK_PATHS_H

#include <stddef.h>
#include <stdint.h>

struct path {
	uint64_t pc; /* of the innermost call */
	uint32_t parent; /* 0: the call was the outermost one */
};

struct paths {
	struct path *v; /* number 0 is the empty one */
	size_t n, cap;
	uint32_t *slot; /* a hash table of numbers */
	size_t slots;
};

void paths_init(struct paths *p);
void paths_fini(struct paths *p);
/* The number of the path that extends `parent` by a call at pc. */
uint32_t paths_number(struct paths *p, uint32_t parent, uint64_t pc);
/* The calls of a path, the innermost first, at most `most`; returns how many. */
uint32_t paths_calls(const struct paths *p, uint32_t number, uint64_t *pc, uint32_t most);

#endif
