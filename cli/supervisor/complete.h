/* SPDX-License-Identifier: MIT */
/* complete.h: the last steps of a recording, when no process records into it any more. */
#ifndef FRED_SUPERVISOR_COMPLETE_H
#define FRED_SUPERVISOR_COMPLETE_H

#include <jansson.h>

#include "base/err.h"
#include "rlog/rlog.h"

struct keeper;

/*
 * Compresses the logs, for compress_s seconds at most; copies source files; adds notes and checksums to meta; writes
 * meta.json, which says from then on that the recording is complete.
 */
int complete_recording(const char *dir, json_t *meta, const struct rlog_control *c, double compress_s, struct err *e);
/*
 * The program has ended before processes that it started: forks a process that waits until nothing records into DIR,
 * and then completes the recording. The keeper (NULL: there is none) continues to serve.
 */
void complete_in_background(const char *dir, json_t *meta, struct rlog_control *c, struct keeper *k);

#endif
