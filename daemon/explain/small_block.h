/* SPDX-License-Identifier: MIT */
/*
 * small_block.h: a write went past the end of a block, and no comparison let it through. Is the block smaller than what
 * it should hold? Then its allocation is the mistake.
 */
#ifndef FRED_EXPLAIN_SMALL_BLOCK_H
#define FRED_EXPLAIN_SMALL_BLOCK_H

#include "chain/explain.h"

/* About x->overrun. 0: the chain ends at the allocation; 1: nothing says that the block is too small; -1. The cursor
 * may stand anywhere afterwards. */
int because_of_small_block(struct explain *x, struct err *e);

#endif
