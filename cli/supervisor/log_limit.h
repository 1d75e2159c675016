/* SPDX-License-Identifier: MIT */
/*
 * log_limit.h: keeps the logs of a recording that is being made within --max-log: when they are nearly full, the daemon
 * gives up their oldest part. Recorded threads whose logs cannot grow wait for that (rlog_control.log_limit), but only
 * while this process renews its lease: so nothing hangs when it is killed.
 */
#ifndef FRED_SUPERVISOR_LOG_LIMIT_H
#define FRED_SUPERVISOR_LOG_LIMIT_H

#include <stdint.h>

#include "base/err.h"
#include "rlog/rlog.h"

#define LOG_LIMIT_MIN (1ull << 20)

/* Before the program runs: sets the limit, and starts the daemon. ERR_HOST: there is none. */
int log_limit_prepare(struct rlog_control *c, uint64_t limit, struct err *e);

struct log_limit;
/* Starts the threads that keep the limit. NULL: the recording has none. */
struct log_limit *log_limit_start(const char *rec, struct rlog_control *c);
/* Stops them; waits for a request to the daemon that is under way. b may be NULL. */
void log_limit_stop(struct log_limit *b);

#endif
