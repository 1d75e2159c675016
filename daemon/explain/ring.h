/* SPDX-License-Identifier: MIT */
/* ring.h: a list that has no end, since its last element leads back to another one. */
#ifndef FRED_EXPLAIN_RING_H
#define FRED_EXPLAIN_RING_H

#include "chain/inspect.h"

#define RING_MOST 64u /* elements */

/*
 * Follows the member `field` of list elements, from the one that the variable `name` points to in a frame, and notes
 * its addresses in `word`. Returns how many there are if they lead back to one of these elements; 0: they do not.
 */
unsigned ring_read(struct inspect *p, int level, const char *name, const char *field, uint64_t word[RING_MOST]);
/*
 * Adds a step where one of these words was written last before the failure, and says why the chain ends. 0; 1: none was
 * written; -1. The cursor stands anywhere afterwards.
 */
int ring_tell(struct explain *x, const uint64_t *word, unsigned n, const char *name, const char *field, struct err *e);

#endif
