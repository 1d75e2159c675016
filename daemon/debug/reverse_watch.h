/* SPDX-License-Identifier: MIT */
/*
 * reverse_watch.h: reverse-watch inside a debugging session. The search (watch/watch.h) runs on processes of its own,
 * from the current position back. The session's own process is ended meanwhile; afterwards it stands before the
 * instruction that made the transition, or where it stood before if there is none.
 */
#ifndef FRED_DEBUG_REVERSE_WATCH_H
#define FRED_DEBUG_REVERSE_WATCH_H

#include "debug/debug.h"

/* args: [--good POS] [--bad POS] [--last | --first | --nth N] [--insn] EXPR. What was found goes to out. Cancelled when
 * the debugger interrupts. */
int debug_reverse_watch(struct debug *d, const char *args, struct buf *out, struct err *e);

#endif
