/* SPDX-License-Identifier: MIT */
/*
 * mi_reason.h: adds a reason to GDB/MI's `*stopped`. GDB 13 reports an end of the history as console text only; its
 * `*stopped` lacks the reason "no-history" that the GDB manual documents ("GDB/MI Async Records").
 */
#ifndef FRED_FRONTEND_MI_REASON_H
#define FRED_FRONTEND_MI_REASON_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct mi_reason {
	bool at_end; /* the text was seen, the record not yet */
};

/* Takes one line of GDB's output, with its line end, and appends the line for the editor to out. */
void mi_reason_line(struct mi_reason *m, const char *line, size_t len, struct buf *out);

/* Starts a process that does so for all that is written to *fd, to standard output. 0, or -1 with e set. */
int mi_reason_start(pid_t *pid, int *fd, struct err *e);

#endif
