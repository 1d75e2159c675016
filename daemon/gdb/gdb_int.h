/* SPDX-License-Identifier: MIT */
/* gdb_int.h: between the files of daemon/gdb only. */
#ifndef FRED_GDB_GDB_INT_H
#define FRED_GDB_GDB_INT_H

#include "gdb/gdb.h"

/* The "--thread N --frame M" options of an MI command (frame < 0: no frame). *out is the caller's. */
int gdb_scope(struct gdb *g, pid_t tid, int frame, char **out, struct err *e);
/* r: the result of gdb_cmd. Returns the same, but GDB's ^error is a failure of this kind, too: -1. */
int gdb_must(int r, const struct mi_reply *reply, enum err_kind kind, struct err *e);

#endif
