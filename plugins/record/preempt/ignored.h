/* SPDX-License-Identifier: MIT */
/*
 * ignored.h: memory of the program in which a replay does not have what was recorded: conditions, barriers, semaphores
 * and locks that somebody has waited for. What libc keeps in them tells of the waits, and in a replay nobody waits
 * there. So these words do not help to find where a thread was interrupted (point.h).
 */
#ifndef FRED_RECORD_IGNORED_H
#define FRED_RECORD_IGNORED_H

#include "record/core/state.h"

#include <stdint.h>

#include "rlog/replay.h"

struct ignored_range {
	uint64_t lo, hi; /* multiples of 8 */
};

#define IGNORED_MAX SHIM_HOLES

/*
 * Recording: moves the list to where a debugger of the live process finds it (rlog/replay.h). Before that, and in a
 * replay, it is elsewhere.
 */
void ignored_init(void);

/* Recording, any thread, at each wait: cheap beside that. If there are too many, some are forgotten. */
void ignored_add(const void *obj, uint64_t bytes);
/* The object is destroyed: from now on, its memory is compared again. */
void ignored_remove(const void *obj);
/* All ranges, in ascending order; returns their number. */
uint32_t ignored_list(struct ignored_range out[IGNORED_MAX]);
/* Inserts [lo, hi) among the n ranges of v, which stay in order. If there are IGNORED_MAX already, it is left out. */
void ignored_insert(struct ignored_range *v, uint32_t *n, uint64_t lo, uint64_t hi);

#endif
