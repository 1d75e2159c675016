/* SPDX-License-Identifier: MIT */
/*
 * live.h: a program that is debugged while it is recorded. A child of the command answers GDB's remote protocol for it: it
 * starts the program as `record` does, holds its threads by ptrace, and stops where GDB wants. What only a recording can
 * do (go back, search) is done by a replay of what is recorded so far: a worker of the daemon is brought to the very state in
 * which the live process stands, and GDB speaks with it from there on. The live process stays stopped; `live` returns to it.
 *
 * The threads run one at a time (--sched serial): at a stop one of them is in the middle of a segment, the others stand in the
 * recorder, so that a replay can stand in the same state.
 */
#ifndef FRED_LIVE_LIVE_H
#define FRED_LIVE_LIVE_H

#include "bridge/bridge.h"
#include "supervisor/record.h"

struct live_opts {
	const struct cli *cli;
	struct strv program; /* and its arguments */
	struct record_opts record; /* argv, hold: none */
};

/* fredctl debug -- PROGRAM. 0 and *code, what GDB exited with; or as live_start. */
int live_debug(const struct cli *cli, int *code, struct err *e);
/*
 * Starts that child: b->worker is the connection to it, for gdb_run. 0; -1 with e set; or in the child 1, when all is over:
 * *code is what it exits with.
 */
int live_start(struct bridge *b, struct live_opts *o, int *code, struct err *e);

#endif
