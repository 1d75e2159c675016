/* SPDX-License-Identifier: MIT */
/*
 * stage_ckpt.c: stage A, Search-Ckpts (FReD 3.2): bisect the checkpoints to two neighbours, good
 * and bad. A checkpoint so near an end that taking it as a midpoint would break the bound on
 * evaluations is passed over here; stage C starts from it all the same.
 */
#include "search/walk.h"

int stage_ckpt(struct walk *w, struct err *e)
{
	uint64_t at;

	if (!w->ops->ckpt_before || !w->ops->ckpt_after)
		return 0;
	while (walk_choose(w, w->ops->ckpt_before, w->ops->ckpt_after, &at))
		if (walk_probe(w, at, e))
			return -1;
	return 0;
}
