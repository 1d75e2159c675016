/* SPDX-License-Identifier: MIT */
/* stuck.h: deadlocks, and programs that hung and were ended from outside. */
#ifndef FRED_EXPLAIN_STUCK_H
#define FRED_EXPLAIN_STUCK_H

#include "chain/explain.h"

/* At the program's end: do threads wait for each other? */
bool stuck_is(struct explain *x);
/* Adds steps for what each thread waits for there, and for where it acquired what others wait for. */
int stuck_explain(struct explain *x, struct err *e);

#endif
