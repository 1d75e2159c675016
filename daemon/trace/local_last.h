/* SPDX-License-Identifier: MIT */
/* local_last.h: what comes behind a transition in its segment: of several, the last one is wanted. */
#ifndef FRED_TRACE_LOCAL_LAST_H
#define FRED_TRACE_LOCAL_LAST_H

#include "trace/local_state.h"

/*
 * The left end is bad. Bad for good, as far as there is time to see it (l->lasting)? An expression that ties two
 * variables together is wrong for a moment whenever both change; what matters is the transition after which it stays wrong.
 * 0: the left end is at the last transition seen, r->outcome says so (TRACE_LOCAL_FOUND), and r->lasts whether it is known to be
 * the last one. 1: the left end is at a good state again, to search from. -1: error.
 */
int local_look_behind(struct local *l, struct err *e);

#endif
