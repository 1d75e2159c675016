/* SPDX-License-Identifier: MIT */
/* whole.h: begins a replay whose segments are run in copies, from their begin to their end. */
#ifndef FRED_REPLAY_WHOLE_H
#define FRED_REPLAY_WHOLE_H

#include "replay/navigate.h"

/*
 * As nav_init, for an operation that goes through whole segments in copies: a thread that waits in memory for another,
 * as by a variant that does not replay, would never come to the end of its segment there. So the variant is one by
 * which the image has replayed to its end, if there is one: a replay without copies finds it first.
 */
int nav_init_whole(struct nav *n, const struct rec *rec, uint32_t process, struct op_ctx *ctx, struct err *e);

#endif
