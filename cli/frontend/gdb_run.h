/* SPDX-License-Identifier: MIT */
/* gdb_run.h: a GDB that is a child of ours, with a recording behind it. */
#ifndef FRED_FRONTEND_GDB_RUN_H
#define FRED_FRONTEND_GDB_RUN_H

#include <stdbool.h>

#include "base/str.h"
#include "bridge/bridge.h"

struct gdb_run {
	const struct strv *args; /* GDB's */
	const struct strv *once; /* more of them, not for one that takes the place of another; may be NULL */
	const char *const *settings; /* as gdb_setup_scripts has it */
	bool mi; /* an editor speaks with it; else a user at a terminal */
	bool unseen; /* nobody looks at it but by its second user interface: what it complains about is dropped */
	struct second_ui *second; /* NULL: none; with a state only */
	const char *state; /* as debug_gdb.h has it: then a worker, the daemon or GDB may die, and another one goes on */
};

/*
 * Runs it until it ends; *code: what it exited with. A SIGINT to us interrupts the program (at a terminal GDB gets it by
 * itself); with a state, SIGQUIT (Ctrl-\) replaces a GDB that hangs; another signal ends GDB. One that a SIGSTOP has stopped
 * for seconds is killed, and so replaced. 0, or -1 with e set: it
 * could not be started, or died.
 */
int gdb_run(struct bridge *b, const struct gdb_run *how, int *code, struct err *e);

#endif
