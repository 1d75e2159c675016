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

#define LOG_LIMIT_MIN (1ull << 20)

/* Before the program runs: the limit, and is there a daemon that can keep it? ERR_HOST if not. */
int log_limit_prepare(struct rlog_control *c, uint64_t limit, struct err *e);

struct log_limit;
/* NULL: the recording is not bounded. */
struct log_limit *log_limit_start(const char *rec, struct rlog_control *c);
/* Waits for what is under way. NULL is fine. */
void log_limit_stop(struct log_limit *b);

#endif
