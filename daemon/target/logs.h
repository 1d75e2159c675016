/* SPDX-License-Identifier: MIT */
/*
 * logs.h: whole copies of logs for a replay that cannot map the recording's own files, as these are partly compressed,
 * or the recording is still being made. They are written once, in the cell.
 */
#ifndef FRED_TARGET_LOGS_H
#define FRED_TARGET_LOGS_H

#include "base/err.h"
#include "reclog/rec.h"

/* The folder of the caller's cell in which they are. Lives as long as the process. */
const char *logs_dir(void);
/* Writes the logs of a process image, and of its ancestors up to `root`. */
int logs_prepare(const struct rec *rec, uint32_t root, uint32_t process, struct err *e);

#endif
