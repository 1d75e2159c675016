/* SPDX-License-Identifier: MIT */
/* keeper.h: opens a recording's files for recorded processes that have given up their rights: rlog/keeper.h. */
#ifndef FRED_CLI_KEEPER_H
#define FRED_CLI_KEEPER_H

#include "base/err.h"

/*
 * Answers requests for the recording in dir, for descendants of this process, in a thread of its own until this
 * process ends. Before the program is started. -1: it cannot.
 */
int keeper_start(const char *dir, struct err *e);

#endif
