/* SPDX-License-Identifier: MIT */
/* local_place.h: goes to a state again by its place in the segment (struct trace_local_place), and counts passes of an
 * address. */
#ifndef FRED_LOCALSEARCH_LOCAL_PLACE_H
#define FRED_LOCALSEARCH_LOCAL_PLACE_H

#include "localsearch/local_state.h"

/*
 * Moves t from the beginning of the segment over the place's gaps, and to before its branch; the place's changes and
 * steps are left to the caller. *passes grows by the number of times that t is at pc (0: none), the first and the last
 * state included. 1: t does not get there.
 */
int local_go_to(struct local *l, struct trace *t, const struct trace_local_place *place, uint64_t pc, uint64_t *passes,
		struct err *e);

#endif
