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
 * Which of the points (sorted by event) to drop so that the gaps between the others, and those to the start of the
 * timeline, stay balanced: the one between the closest neighbours, since re-running that gap costs least. The last
 * point's right neighbour is the end of the timeline, `total` (0: unknown: the last point is kept while there is
 * another). Returns the index of the point to drop, or n when none may be dropped.
 */
size_t ckpt_policy_victim(const struct ckpt_point *p, size_t n, uint64_t total);

/*
 * Sets drop[i] for what must go so that at most max_count points and max_bytes bytes stay (0: no
 * bound). Returns how many.
 */
size_t ckpt_policy_thin(const struct ckpt_point *p, size_t n, uint64_t total, size_t max_count, uint64_t max_bytes,
			bool *drop);

#endif
