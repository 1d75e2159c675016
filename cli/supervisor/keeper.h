/* SPDX-License-Identifier: MIT */
/* keeper.h: opens and writes a recording's files for recorded processes that have dropped their privileges
 * (rlog/keeper.h). */
#ifndef FRED_SUPERVISOR_KEEPER_H
#define FRED_SUPERVISOR_KEEPER_H

#include "base/err.h"
#include "rlog/rlog.h"

struct keeper;

/* For the recording in dir, before the program is started. It lives as long as this process. NULL with e set. */
struct keeper *keeper_new(const char *dir, const struct rlog_control *c, struct err *e);
/*
 * Starts a thread that answers requests of processes that record into it, and of descendants of this process, until
 * this process ends. A process that was forked later calls it again. -1 with e set.
 */
int keeper_serve(struct keeper *k, struct err *e);
/* In a process forked from the one that serves: closes that process's descriptors. k may be NULL. */
void keeper_forget(struct keeper *k);

#endif
