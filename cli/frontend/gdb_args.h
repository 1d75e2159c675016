/* SPDX-License-Identifier: MIT */
/* gdb_args.h: reads an editor's command line for gdb, as far as it matters to fred. */
#ifndef FRED_FRONTEND_GDB_ARGS_H
#define FRED_FRONTEND_GDB_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct gdb_args {
	size_t program; /* index of the word that names the program; the number of words if none does */
	const char *name; /* of the program, NULL: none */
	const char *pid; /* a process to attach to, NULL: none */
	bool interpreter; /* an interpreter is chosen */
	bool mi; /* and it is MI */
	bool only_tells; /* --version and the like: nothing is to be debugged */
};

void gdb_args_read(const struct strv *words, struct gdb_args *out);

#endif
