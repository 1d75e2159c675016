/* SPDX-License-Identifier: MIT */
/*
 * live.h: a program that is debugged while it is recorded. A child process of the command is GDB's remote target: it
 * starts the program as `record` does, and controls its threads by ptrace. For commands that need a recording (reverse
 * execution, search), a worker of the daemon replays what is recorded so far, up to the state of the live process; from
 * then on, GDB's packets go to that worker. The live process stays stopped meanwhile; the command `live` returns to it.
 *
 * The threads run one at a time (--sched serial): at a stop, one of them is inside a segment, and the others are in the
 * recorder. So a replay can reach the same state.
 */
#ifndef FRED_LIVE_LIVE_H
#define FRED_LIVE_LIVE_H

#include "bridge/bridge.h"
#include "supervisor/record.h"

struct live_opts {
	const struct cli *cli;
	struct strv program; /* and its arguments */
	struct record_opts record; /* without argv and hold */
};

/* fredctl debug -- PROGRAM. 0 and *code, GDB's exit code; or as live_start. */
int live_debug(const struct cli *cli, int *code, struct err *e);
/*
 * Starts that child process: b->worker is the connection to it, for gdb_run. 0; -1 with e set; in the child 1, at its
 * end: *code is its exit code.
 */
int live_start(struct bridge *b, struct live_opts *o, int *code, struct err *e);

#endif
