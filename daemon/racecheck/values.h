/* SPDX-License-Identifier: MIT */
/* values.h: would the other order of two accesses have given another value? */
#ifndef FRED_RACECHECK_VALUES_H
#define FRED_RACECHECK_VALUES_H

#include "racecheck/racecheck.h"

/*
 * Sets `changes` of all findings: a copy of the process goes to each write, and memory before and after it is
 * compared. A write and a read: does the write change what the read gets? Two writes: do they leave different values?
 */
int values_compare(struct racecheck *r, struct nav *nav, struct err *e);

#endif
