/* SPDX-License-Identifier: MIT */
/*
 * plan.h: which schedule each run has. A pure function of the run's number and of the outcomes of runs that lie at
 * least two epochs back: so it does not depend on the order in which runs end, and is the same after each resume.
 * Within an epoch, classes of schedules take turns by their weights, which move towards those that have failed before.
 *
 * Numbers here are local: 0, 1, 2 ... of this shard.
 */
#ifndef FRED_HUNT_PLAN_H
#define FRED_HUNT_PLAN_H

#include "hunt/spec.h"

#define PLAN_EPOCH 64u /* runs */
#define PLAN_LAG 2u /* epochs between the last whose outcomes count and the one that is planned, which is excluded */

struct plan_tally {
	uint64_t runs[HUNT_CLASSES], failed[HUNT_CLASSES];
};

struct plan {
	unsigned scheds;
	struct plan_tally *epochs; /* outcomes by epoch */
	size_t nepochs;
	/* the epoch that was laid out last */
	uint64_t laid;
	bool is_laid;
	enum hunt_class layout[PLAN_EPOCH];
};

void plan_init(struct plan *p, unsigned scheds);
void plan_fini(struct plan *p);
/* Notes the outcome of the run with this number. */
void plan_note(struct plan *p, uint64_t number, enum hunt_class c, bool failed);
/* All runs below this must have been noted before plan_class(number). */
uint64_t plan_needs(uint64_t number);
enum hunt_class plan_class(struct plan *p, uint64_t number);

#endif
