/* SPDX-License-Identifier: MIT */
/* hits.h: the HITS of a transition's position N/0xPC#HITS: how often its thread has come to the address by then. */
#ifndef FRED_WATCH_HITS_H
#define FRED_WATCH_HITS_H

#include "replay/navigate.h"
#include "watch/segment_search.h"

/*
 * Runs the segment after `event` again and counts how often the thread comes to pc, the address of the instruction that
 * d found (or its pc_after). 1 and *hits; 0: the place was not recognised, or, unless `patient`, counting would take
 * more than about a second. The target is used up.
 */
int hits_count(struct nav *n, uint64_t event, uint64_t pc, const struct segment_search *d, const struct expr *x,
	       bool patient, uint64_t *hits, struct err *e);
/* Makes of *hits, counted from where the search d began, the number from the beginning of the segment. The target is
 * used up. */
int hits_of_segment(struct nav *n, uint64_t event, const struct segment_search *d, uint64_t pc, uint64_t *hits,
		    struct err *e);

#endif
