/* SPDX-License-Identifier: MIT */
/*
 * int3.h: a breakpoint in the text of a process of which one thread runs. A processor, at least a virtual one, may miss
 * the hit of a debug register; it does not miss an instruction.
 */
#ifndef FRED_TRACE_INT3_H
#define FRED_TRACE_INT3_H

#include "trace/trace.h"

struct trace_int3 {
	uint64_t addr; /* 0: it is not inserted */
	uint8_t saved; /* the byte under it */
};

/* There may be one at that address already: then the later one must be taken out first. */
int trace_int3_insert(struct trace_int3 *p, const struct trace *t, uint64_t addr, struct err *e);
/* Does nothing if it is not inserted, or the thread has ended. */
int trace_int3_take_out(struct trace_int3 *p, const struct trace *t, struct err *e);
/* t has stopped, and s says why. 1: at this breakpoint, and the PC is set back to its address; 0: elsewhere; -1. */
int trace_int3_met(const struct trace_int3 *p, struct trace *t, const struct trace_stop *s, struct err *e);

#endif
