/* SPDX-License-Identifier: MIT */
/*
 * parallel.h: a whole replay whose threads run side by side, as far as the order of the events allows it
 * (rlog/replay.h). Without data races the result is that of the linear replay, in less time; with data races it may
 * differ, and its divergences prove nothing.
 */
#ifndef FRED_REPLAY_PARALLEL_H
#define FRED_REPLAY_PARALLEL_H

#include "target/target.h"

/* The event up to which threads can run side by side; 0: they cannot. */
uint64_t parallel_bound(struct target *t);
/* Sets up a launched target, which is at position 0, to run up to `bound` on all cores. */
void parallel_begin(struct target *t, uint64_t bound);
/* For the next launch: one thread at a time again. */
void parallel_end(struct target *t);

#endif
