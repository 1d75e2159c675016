/* SPDX-License-Identifier: MIT */
/* proc.h: what /proc would show of the recorded process, for a debugger's commands (cli/gdb/core.py). */
#ifndef FRED_DEBUG_PROC_H
#define FRED_DEBUG_PROC_H

#include "debug/debug.h"

/* As a monitor command: lines of maps, pid, auxv (hexadecimal), exe, cwd (at its start) or cmdline. */
int proc_tell(struct debug *d, const char *args, struct buf *out, struct err *e);

#endif
