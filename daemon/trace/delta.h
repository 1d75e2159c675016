/* SPDX-License-Identifier: MIT */
/* delta.h: the memory words in which two copies of one process differ. */
#ifndef FRED_TRACE_DELTA_H
#define FRED_TRACE_DELTA_H

#include "base/err.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct delta {
	size_t n, cap;
	uint64_t *addr; /* rising, multiples of 8 */
	uint64_t *left, *right; /* the contents */
};

/*
 * Compares the writable mappings of two stopped processes, one forked from the other or both from a
 * third. Pages they still share are skipped (/proc/PID/pagemap; where it hides frame numbers, all
 * are compared). At most `max` words: 1, and *d is empty, when there are more. 0, or -1 with e set.
 */
int delta_diff(pid_t left, pid_t right, size_t max, struct delta *d, struct err *e);
/* Gives words [from, to) their contents in the right or the left process, in process pid. */
int delta_apply(pid_t pid, const struct delta *d, size_t from, size_t to, const uint64_t *contents, struct err *e);
void delta_fini(struct delta *d);

#endif
