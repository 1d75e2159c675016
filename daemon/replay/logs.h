/* SPDX-License-Identifier: MIT */
/*
 * logs.h: the logs that a replay maps, if it cannot map the recording's own files: these are partly compressed, or the
 * recording is still being made. The whole logs are then written once, in the cell (REPLAY_LOGS in rlog/replay.h).
 */
#ifndef FRED_REPLAY_LOGS_H
#define FRED_REPLAY_LOGS_H

#include "base/err.h"
#include "reclog/rec.h"

/* Those of a process image, and of its ancestors up to `root`. */
int logs_prepare(const struct rec *rec, uint32_t root, uint32_t process, struct err *e);

#endif
