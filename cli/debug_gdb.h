/* SPDX-License-Identifier: MIT */
/* debug_gdb.h: what the GDB of a debugging session is told before it begins. */
#ifndef FRED_CLI_DEBUG_GDB_H
#define FRED_CLI_DEBUG_GDB_H

#include "base/err.h"

/*
 * Writes a GDB script to path: settings, those of `more` (ended by NULL; may be NULL), fred's commands, and the
 * connection to socket_path.
 */
int debug_gdb_script(const char *path, const char *socket_path, const char *const *more, struct err *e);

#endif
