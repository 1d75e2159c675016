/* SPDX-License-Identifier: MIT */
/* gdb_run.h: runs GDB as a child process, connected with a worker. */
#ifndef FRED_FRONTEND_GDB_RUN_H
#define FRED_FRONTEND_GDB_RUN_H

#include <stdbool.h>

#include "base/str.h"
#include "bridge/bridge.h"

struct gdb_run {
	const struct strv *args; /* GDB's */
	const struct strv *once; /* more arguments, for the first GDB only; may be NULL */
	const char *const *settings; /* as gdb_setup_scripts has it */
	bool mi; /* an editor speaks with it; else a user at a terminal */
	bool unseen; /* GDB is only used through its second user interface, and its standard error is dropped */
	struct second_ui *second; /* NULL: none; with a state only */
	const char *state; /* as in gdb_setup.h: then another worker, daemon or GDB replaces one that has died */
};

/*
 * Runs GDB until it ends; *code: its exit code. A SIGINT to this process interrupts the program (the terminal sends it
 * to GDB, too). With a state, SIGQUIT (Ctrl-\) replaces a GDB that hangs, and a GDB that has been stopped by SIGSTOP
 * for seconds is killed and replaced. Other signals end GDB. 0; -1 with e set: GDB could not be started, or died.
 */
int gdb_run(struct bridge *b, const struct gdb_run *how, int *code, struct err *e);

#endif
