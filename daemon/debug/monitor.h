/* SPDX-License-Identifier: MIT */
/* monitor.h: the commands of fred's own in a debugging session: GDB's `monitor COMMAND`. */
#ifndef FRED_DEBUG_MONITOR_H
#define FRED_DEBUG_MONITOR_H

#include "debug/debug.h"

/* As rsp_ops.monitor: arg is a struct debug. */
int monitor(void *arg, const char *command, struct buf *out, struct err *e);
/* As monitor, for a command that was put off, inside another command that has begun (busy.h). */
int monitor_later(struct debug *d, const char *command, struct buf *out, struct err *e);

#endif
