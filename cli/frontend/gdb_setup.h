/* SPDX-License-Identifier: MIT */
/* gdb_setup.h: what the GDB of a debugging session is told before it begins. */
#ifndef FRED_FRONTEND_GDB_SETUP_H
#define FRED_FRONTEND_GDB_SETUP_H

#include "base/err.h"
#include "base/str.h"

struct gdb_setup {
	const char *dir; /* where the scripts are written */
	const char *socket_path; /* what GDB connects to */
	const char *const *settings; /* commands, ended by NULL; may be NULL */
	const struct strv *sources, *notes; /* commands, and what to tell the user; may be NULL */
	const char *state; /* the file that GDB's own state is taken from and saved to; NULL: it is not kept */
	bool mi; /* an editor speaks with it */
	const char *tty; /* a terminal for a second user interface, in MI; NULL: none */
	const char *sysroot; /* where GDB reads the program's files by itself; NULL: from the other side */
};

/* Writes the scripts; adds the options by which GDB reads them to argv. */
int gdb_setup_scripts(const struct gdb_setup *g, struct strv *argv, struct err *e);
void gdb_setup_remove(const struct gdb_setup *g);

#endif
