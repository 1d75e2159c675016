/* SPDX-License-Identifier: MIT */
/*
 * arrivals.h: how often a held thread comes to an address. The kernel counts (perf_event_open(2), PERF_TYPE_BREAKPOINT), in
 * debug registers that the tracer has not taken: half a microsecond each time, where a stop would cost ten.
 */
#ifndef FRED_TRACE_ARRIVALS_H
#define FRED_TRACE_ARRIVALS_H

#include "trace/trace.h"

#define ARRIVALS_MAX 3

struct arrivals {
	int fd[ARRIVALS_MAX];
	unsigned n;
};

/*
 * Counts t's arrivals at these addresses from here on; one at its very PC counts. nth is 0, or t is stopped by SIGTRAP
 * before the nth arrival at each (see arrivals_is_stop). 1: the host cannot, or has not so many free registers.
 */
int arrivals_open(struct arrivals *a, const struct trace *t, const uint64_t *pc, unsigned n, uint64_t nth);
/* Fine on a zeroed one. */
void arrivals_close(struct arrivals *a);
int arrivals_read(const struct arrivals *a, unsigned i, uint64_t *count, struct err *e);
bool arrivals_is_stop(const struct trace_stop *s);

#endif
