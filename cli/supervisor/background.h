/* SPDX-License-Identifier: MIT */
/* background.h: finishes a recording whose first process has ended before others. */
#ifndef FRED_SUPERVISOR_BACKGROUND_H
#define FRED_SUPERVISOR_BACKGROUND_H

struct keeper;
struct record_result;
struct rlog_control;

/*
 * Starts a process that waits in the background until nothing records into it any more, and then finishes it. The
 * keeper, NULL if there is none, works on in it.
 */
void background_finish(const struct record_result *r, struct rlog_control *c, struct keeper *k);

#endif
