/* SPDX-License-Identifier: MIT */
/*
 * local_count.h: the local search by counting, so that it takes a logarithm of evaluations: bisects the branches that the
 * thread executes (trace/walk.h counts them), and then the instructions up to the next branch.
 */
#ifndef FRED_TRACE_LOCAL_COUNT_H
#define FRED_TRACE_LOCAL_COUNT_H

#include "trace/local_int.h"

/* May end with NOT_YET: the left end is good and may have moved on; another way has to do. */
int local_by_branches(struct local *l, enum local_verdict *v, struct err *e);

#endif
