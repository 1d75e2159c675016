/* SPDX-License-Identifier: MIT */
/* stuck.h: threads that wait for each other, and programs that were ended from outside while they hung. */
#ifndef FRED_EXPLAIN_STUCK_H
#define FRED_EXPLAIN_STUCK_H

#include "explain/explain.h"

/* The program stands at the end: do threads of it wait for each other? */
bool stuck_is(struct explain *x);
/* What each thread waits for there, and where it got what others wait for. */
int stuck_explain(struct explain *x, struct err *e);

#endif
