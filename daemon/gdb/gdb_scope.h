/* SPDX-License-Identifier: MIT */
/* gdb_scope.h: between the files of daemon/gdb only. */
#ifndef FRED_GDB_GDB_SCOPE_H
#define FRED_GDB_GDB_SCOPE_H

#include "gdb/gdb.h"

/* The "--thread N --frame M" options of an MI command (frame < 0: no frame). *out is the caller's. */
int gdb_scope(struct gdb *g, pid_t tid, int frame, char **out, struct err *e);

#endif
