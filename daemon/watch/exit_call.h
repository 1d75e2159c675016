/* SPDX-License-Identifier: MIT */
/*
 * exit_call.h: where a thread called exit(3), inside of which it stands at the end of the recording. From there on the
 * program's destructors and handlers of atexit run, which free and clear what an expression reads.
 */
#ifndef FRED_WATCH_EXIT_CALL_H
#define FRED_WATCH_EXIT_CALL_H

#include "expr/locals.h"
#include "replay/navigate.h"

struct exit_call {
	struct expr_locals frame; /* !any: the thread is not inside exit */
	uint64_t pc; /* the function's first instruction */
};

/* Sets *x. GDB is attached to the process. If the call is not found, x->frame.any is false. */
void exit_call_find(struct gdb *g, pid_t tid, struct exit_call *x);
/*
 * *at becomes the position at which exit was called; it lies between the events `from` and `to`. The process cannot be
 * used afterwards. 1: the call is not after `from`.
 */
int exit_call_begin(const struct exit_call *x, struct nav *n, uint64_t from, uint64_t to, struct timeline_point *at,
		    struct err *e);

#endif
