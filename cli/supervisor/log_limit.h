/* SPDX-License-Identifier: MIT */
/*
 * log_limit.h: keeps the logs of a recording that is being made within --max-log: has the daemon give up their oldest part
 * when they become full. Recorded threads whose logs cannot grow wait meanwhile (rlog_control.log_limit); for not longer
 * than this here lives, so that nothing hangs when it is killed.
 */
#ifndef FRED_SUPERVISOR_LOG_LIMIT_H
#define FRED_SUPERVISOR_LOG_LIMIT_H

#include <stdint.h>

#include "base/err.h"
#include "rlog/rlog.h"

#define BOUND_MIN (1ull << 20)

/* Before the program runs: the limit, and is there a daemon that can keep it? ERR_HOST if not. */
int bound_prepare(struct rlog_control *c, uint64_t limit, struct err *e);

struct bound;
/* NULL: the recording is not bounded. */
struct bound *bound_start(const char *rec, struct rlog_control *c);
/* Waits for what is under way. NULL is fine. */
void bound_stop(struct bound *b);

#endif
