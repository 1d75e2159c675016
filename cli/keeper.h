/* SPDX-License-Identifier: MIT */
/* keeper.h: opens a recording's files for recorded processes that have given up their rights: rlog/keeper.h. */
#ifndef FRED_CLI_KEEPER_H
#define FRED_CLI_KEEPER_H

#include "base/err.h"

struct keeper;

/* For the recording in dir; before the program is started. NULL: it cannot. Lives as long as the process. */
struct keeper *keeper_new(const char *dir, struct err *e);
/*
 * Answers requests of processes that record into it, and of descendants of this process, in a thread of its own until
 * this process ends. Again in a process that was forked since. -1: it cannot.
 */
int keeper_serve(struct keeper *k, struct err *e);

#endif
