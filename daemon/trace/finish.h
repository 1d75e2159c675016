/* SPDX-License-Identifier: MIT */
/* finish.h: lets one thread run to the return of a function, in place of stepping through all of it. */
#ifndef FRED_TRACE_FINISH_H
#define FRED_TRACE_FINISH_H

#include "trace/trace.h"

/*
 * t stands at a function's first instruction, and runs to its return, by a breakpoint in this slot, or to where
 * something stops it before: *stop says what. ERR_CANCELLED when `cancelled` (may be NULL) returns true. 0 or -1.
 */
int trace_finish_call(struct trace *t, unsigned slot, bool (*cancelled)(void *ctx), void *ctx, struct trace_stop *stop,
		      struct err *e);
/* The same, if no other thread of the process runs: by a breakpoint in the text, which no processor misses. */
int trace_finish_call_alone(struct trace *t, bool (*cancelled)(void *ctx), void *ctx, struct trace_stop *stop,
			    struct err *e);

#endif
