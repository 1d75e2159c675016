/* SPDX-License-Identifier: MIT */
/* whole.h: schedule variants that replay to the end: for replays whose segments are run in copies, and after a
 * divergence. */
#ifndef FRED_REPLAY_WHOLE_H
#define FRED_REPLAY_WHOLE_H

#include "replay/navigate.h"

/*
 * As nav_init, for an operation that goes through whole segments in copies: a thread that waits in memory for another,
 * as by a variant that does not replay, would never come to the end of its segment there. So the variant is one by
 * which the image has replayed to its end, if there is one: a replay without copies finds it first.
 */
int nav_init_whole(struct nav *n, const struct rec *rec, uint32_t process, struct op_ctx *ctx, struct err *e);

/*
 * An operation has ended whose replay diverged, with that error, if any: looks for another schedule variant by which
 * that image replays to its end, and remembers it in the recording. True: there is one, and the operation may be made
 * again.
 */
bool whole_has_other_variant(struct op_ctx *ctx, const struct err *divergence);

#endif
