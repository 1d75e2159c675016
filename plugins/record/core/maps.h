/* SPDX-License-Identifier: MIT */
/* maps.h: lists the memory mappings of this process. */
#ifndef FRED_RECORD_MAPS_H
#define FRED_RECORD_MAPS_H

#include "record/core/state.h"

#include <stdint.h>

struct map {
	uint64_t lo, hi, off, inode; /* inode 0: of no file */
	const char *perms; /* "rwxp" */
	const char *path; /* or a name such as "[stack]", or empty; the end of a very long one is missing */
};
/*
 * Calls fn for each mapping of this process until fn returns something other than 0, and returns that. -1: they cannot
 * be listed. The texts are valid until fn returns.
 */
int maps_each(int (*fn)(const struct map *m, void *arg), void *arg);
/* The same with the kernel's flags of each, " rd wr mr ... " (proc_pid_smaps(5)). fn may change the mapping. 0 or -1.
 */
int maps_flags(void (*fn)(uint64_t lo, uint64_t hi, const char *flags));

#endif
