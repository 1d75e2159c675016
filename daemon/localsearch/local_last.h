/* SPDX-License-Identifier: MIT */
/* local_last.h: looks for later transitions in the segment: the last one is wanted. */
#ifndef FRED_LOCALSEARCH_LOCAL_LAST_H
#define FRED_LOCALSEARCH_LOCAL_LAST_H

#include "localsearch/local_state.h"

/*
 * The left end is bad. Does it stay bad, as far as is examined (l->lasting; for samples, their number)? An expression
 * that relates two variables is false for a moment whenever both change; what matters is the transition after which it
 * stays false. 0: the left end is at the last transition seen (r->outcome is TRACE_LOCAL_FOUND); r->lasts: it is known
 * to be the last one. 1: the left end is at a later, good state, to continue the search from. -1: error.
 */
int local_look_later(struct local *l, struct err *e);
/*
 * Where changes cannot be followed: moves the left end, which is bad, over the next gap. *good: it is good there, and
 * the search goes on from it. 1: it has moved; 0: there is no further gap, or it cannot be crossed.
 */
int local_next_stretch(struct local *l, bool *good, struct err *e);

#endif
