/* SPDX-License-Identifier: MIT */
/* hits.h: which time at its address a transition was, so that its position can be gone to: N/0xPC#HITS. */
#ifndef FRED_WATCH_HITS_H
#define FRED_WATCH_HITS_H

#include "replay/navigate.h"
#include "watch/segment_search.h"

/*
 * Goes through the segment behind `event` again and counts how often the thread comes to pc, the address of
 * the transition d's instruction (or its pc_after). 1 and *hits; 0 when the place is not recognised, or, if nobody is patient,
 * when that would take long (over a second). The target is used up.
 */
int hits_count(struct nav *n, uint64_t event, uint64_t pc, const struct segment_search *d, const struct expr *x, bool patient,
	       uint64_t *hits, struct err *e);
/* What was counted from where the search d began, as times in the segment. The target is used up. */
int hits_of_segment(struct nav *n, uint64_t event, const struct segment_search *d, uint64_t pc, uint64_t *hits, struct err *e);

#endif
