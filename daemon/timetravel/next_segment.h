/* SPDX-License-Identifier: MIT */
/* next_segment.h: the segments in which a thread moves next on the timeline: a step of the thread leads into them. */
#ifndef FRED_TIMETRAVEL_NEXT_SEGMENT_H
#define FRED_TIMETRAVEL_NEXT_SEGMENT_H

#include "reclog/timeline.h"

/* Zeroed: nothing is known yet. */
struct next_segment {
	uint32_t who; /* the thread's number; 0: nothing is known */
	uint64_t from, total; /* the arguments of next_segment_find */
	uint64_t n; /* the thread moves next after this event; equal to total: it does not move any more */
	bool soft; /* that segment ends in the middle of the program, where the thread was interrupted */
	uint64_t end; /* not soft: up to this event it moves alone, and none of its segments is soft */
};

/* From the segment after event `from` on; total: the last event. An answer that *a already has is not looked for
 * again. */
int next_segment_find(struct next_segment *a, struct timeline *tl, uint64_t total, uint32_t who, uint64_t from,
		      struct err *e);

#endif
