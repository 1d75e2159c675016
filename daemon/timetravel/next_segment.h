/* SPDX-License-Identifier: MIT */
/* next_segment.h: which segments of a thread's come next on the timeline: what a step of it will have to do with. */
#ifndef FRED_TIMETRAVEL_NEXT_SEGMENT_H
#define FRED_TIMETRAVEL_NEXT_SEGMENT_H

#include "reclog/timeline.h"

/* Zeroed: nothing is known yet. */
struct next_segment {
	uint32_t who; /* the thread's ordinal */
	uint64_t from, total; /* that was asked for */
	uint64_t n; /* behind this event it moves next; the last event of all: it does not */
	bool soft; /* that segment ends in the middle of the program: it was interrupted there */
	uint64_t end; /* if not: up to this event it moves alone, and no segment is soft */
};

/* From the segment behind event `from` on; total: the last event. What is known already is not looked for again. */
int next_segment_find(struct next_segment *a, struct timeline *tl, uint64_t total, uint32_t who, uint64_t from, struct err *e);

#endif
