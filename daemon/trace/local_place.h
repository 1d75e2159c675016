/* SPDX-License-Identifier: MIT */
/* local_place.h: going to a state again by its place in the segment (struct trace_local_place), and counting on the way. */
#ifndef FRED_TRACE_LOCAL_PLACE_H
#define FRED_TRACE_LOCAL_PLACE_H

#include "trace/local_state.h"

/*
 * t stands where the segment begins: goes over the place's gaps and up to before its branch; its changes and steps are left to
 * the caller. pc (0: none) is counted on the way, with where it begins and ends. 1: it does not come there.
 */
int local_go_to(struct local *l, struct trace *t, const struct trace_local_place *place, uint64_t pc, uint64_t *passes, struct err *e);

#endif
