/* SPDX-License-Identifier: MIT */
/*
 * progress_line.h: the progress of a debugger's command, on the terminal of the session's fredctl: the worker's
 * notifications (daemon/debug/busy.h) are taken out of its stream to the debugger. The line is erased before the
 * debugger gets other data.
 */
#ifndef FRED_BRIDGE_PROGRESS_LINE_H
#define FRED_BRIDGE_PROGRESS_LINE_H

#include <stddef.h>

#include "base/buf.h"
#include "client/progress.h"

struct progress_line {
	struct progress progress;
	char kind; /* of the current packet: '$', '%' (a notification), or 0: none */
	unsigned left; /* bytes of its checksum that have not come yet, after its # */
	struct buf note;
};

void progress_line_init(struct progress_line *b, const struct cli *cli);
void progress_line_fini(struct progress_line *b);
/* Removes notifications from n bytes of the worker; the number of bytes left, for the debugger. */
size_t progress_line_take(struct progress_line *b, char *data, size_t n);

#endif
