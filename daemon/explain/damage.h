/* SPDX-License-Identifier: MIT */
/* damage.h: what `fredctl record --detect` found in the heap: finds the statements that wrote there. */
#ifndef FRED_EXPLAIN_DAMAGE_H
#define FRED_EXPLAIN_DAMAGE_H

#include "chain/explain.h"

/* Is something damaged in x->process? */
bool damage_any(const struct explain *x);
/* The first process with damage; 0: none. */
uint32_t damage_process(const struct rec *rec);
/*
 * For each damaged block of the process, in the order in which they were found: the statement that wrote there first,
 * and where the block was allocated and freed. Appends the objects of fredctl(1) to `list`. If nothing failed, the
 * first one becomes the failure of x, and its chain. -1: the replay failed.
 */
int damage_explain(struct explain *x, json_t *list, struct err *e);

#endif
