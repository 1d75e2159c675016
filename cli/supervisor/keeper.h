/* SPDX-License-Identifier: MIT */
/* keeper.h: opens and writes a recording's files for recorded processes that have given up their rights: rlog/keeper.h. */
#ifndef FRED_SUPERVISOR_KEEPER_H
#define FRED_SUPERVISOR_KEEPER_H

#include "base/err.h"
#include "rlog/rlog.h"

struct keeper;

/* For the recording in dir with this control page, before the program is started. NULL: it cannot. Lives as long as the process. */
struct keeper *keeper_new(const char *dir, const struct rlog_control *c, struct err *e);
/*
 * Answers requests of processes that record into it, and of descendants of this process, in a thread of its own until
 * this process ends. Again in a process that was forked since. -1: it cannot.
 */
int keeper_serve(struct keeper *k, struct err *e);

#endif
