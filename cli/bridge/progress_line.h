/* SPDX-License-Identifier: MIT */
/*
 * progress_line.h: how far a command of a debugger's is, on the terminal of who started the session: the worker's notifications
 * (daemon/debug/busy.h) are taken out of its stream to the debugger. The line is there only while the debugger waits: it is
 * gone before the debugger hears of anything else.
 */
#ifndef FRED_BRIDGE_PROGRESS_LINE_H
#define FRED_BRIDGE_PROGRESS_LINE_H

#include <stddef.h>

#include "base/buf.h"
#include "client/progress.h"

struct progress_line {
	struct progress progress;
	char kind; /* of what is under way: '$', '%', or 0 */
	unsigned left; /* bytes of its checksum to come, when its # has come */
	struct buf note;
};

void progress_line_init(struct progress_line *b, const struct cli *cli);
void progress_line_fini(struct progress_line *b);
/* Of n bytes from the worker those that are for the debugger, moved together; how many. */
size_t progress_line_take(struct progress_line *b, char *data, size_t n);

#endif
