/* SPDX-License-Identifier: MIT */
/* policy.h: which checkpoints to keep, and when to take one. Pure. */
#ifndef FRED_CKPT_POLICY_H
#define FRED_CKPT_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ckpt_point {
	uint64_t event;
	uint64_t bytes;
	bool keep; /* asked for by the user, or in use: never dropped */
};

/*
 * Which of the points (sorted by event) to drop so that the gaps between the others, and those to
 * the start of the timeline, stay balanced: the one between the closest neighbours, since
 * re-running that gap costs least. The last point's right neighbour is the end of the timeline,
 * `total` (0: unknown: the last point is kept while there is another). Returns its index, or n
 * when none may be dropped.
 */
size_t ckpt_policy_victim(const struct ckpt_point *p, size_t n, uint64_t total);

/*
 * Sets drop[i] for what must go so that at most max_count points and max_bytes bytes stay (0: no
 * bound). Returns how many.
 */
size_t ckpt_policy_thin(const struct ckpt_point *p, size_t n, uint64_t total, size_t max_count,
			uint64_t max_bytes, bool *drop);

/* What a replay knows when it asks whether a checkpoint is due. */
struct ckpt_pace {
	double run_s; /* replay time since the last checkpoint or restart */
	double last_cost_s; /* of the last dump; 0: none yet */
	double expect_s; /* replay time of the whole timeline, 0: unknown */
	size_t max_count; /* of checkpoints, 0: no bound */
};

/*
 * True when the run since the last checkpoint is long enough that a dump costs at most a tenth of
 * it, is worth coming back to, and, if the whole length is known, that max_count checkpoints are
 * not used up before the end.
 */
bool ckpt_policy_due(const struct ckpt_pace *pace);

#endif
