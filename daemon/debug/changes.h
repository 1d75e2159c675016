/* SPDX-License-Identifier: MIT */
/* changes.h: all changes of some bytes of memory, from the start of the timeline up to here. */
#ifndef FRED_DEBUG_CHANGES_H
#define FRED_DEBUG_CHANGES_H

#include "debug/debug.h"

/*
 * As a monitor command: history ADDR LENGTH. A line for each change: "change POSITION TID PC OLD NEW", the bytes in
 * hexadecimal (nothing: not mapped); POSITION and PC are those of the statement that makes it. Lines that begin with
 * "fred: " tell the user what is not in the list. The program stays where it is.
 */
int changes_list(struct debug *d, const char *args, struct buf *out, struct err *e);

#endif
