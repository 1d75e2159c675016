/* SPDX-License-Identifier: MIT */
/* gdb_setup.h: the scripts with which the GDB of a debugging session starts. */
#ifndef FRED_FRONTEND_GDB_SETUP_H
#define FRED_FRONTEND_GDB_SETUP_H

#include "base/err.h"
#include "base/str.h"

struct gdb_setup {
	const char *dir; /* where the scripts are written */
	const char *socket_path; /* what GDB connects to */
	const char *const *settings; /* commands, ended by NULL; may be NULL */
	const struct strv *sources,
		*notes; /* commands for source files and libraries, notes for the user (source_tree.h); may be NULL */
	const char *state; /* the file that GDB's own state is read from and saved to; NULL: it is not saved */
	bool mi; /* an editor uses it, by GDB/MI */
	const char *tty; /* a terminal for a second user interface, in MI; NULL: none */
	const char *recording; /* its folder; NULL: a program that runs */
	const char *sysroot; /* of the program's files; NULL: GDB reads them through the remote protocol */
};

/* Writes the scripts; adds the options by which GDB reads them to argv. */
int gdb_setup_scripts(const struct gdb_setup *g, struct strv *argv, struct err *e);
void gdb_setup_remove(const struct gdb_setup *g);

#endif
