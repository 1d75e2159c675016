/* SPDX-License-Identifier: MIT */
/*
 * mi_reason.h: what GDB/MI lacks. GDB 13 says that a program has come to an end of its history as text alone: its
 * `*stopped` has no reason. Here it gets the one that the manual promises ("GDB/MI Async Records").
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

/* One line of GDB's output, with its line end: what goes to the editor is added to out. */
void mi_reason_line(struct mi_reason *m, const char *line, size_t len, struct buf *out);

/* Starts a process that passes on to standard output what is written to *fd. 0, or -1 with e set. */
int mi_reason_start(pid_t *pid, int *fd, struct err *e);

#endif
