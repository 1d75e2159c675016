/* SPDX-License-Identifier: MIT */
/*
 * range.h: steps in a range of addresses, mostly a line's (vCont;r of the remote protocol): the step goes on until the
 * thread leaves the range. The ways out of the range are found once; the program then runs to one of them.
 */
#ifndef FRED_DEBUG_RANGE_H
#define FRED_DEBUG_RANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define RANGE_WAYS 64

struct step_range {
	uint64_t lo, hi; /* equal: there is none */
	/*
	 * Targets of jumps out of the range, and instructions in it with unknown targets: calls, returns, other jumps
	 * and system calls.
	 */
	uint64_t way[RANGE_WAYS];
	unsigned ways;
};

/* code: the bytes of the range. false: the ways out are not known. */
bool range_learn(struct step_range *r, const uint8_t *code);

struct debug;
struct stop;
/* monitor over [1]: do the debugger's commands step over calls (`next`), until it says otherwise or is at its prompt?
 * Where that is not known, each call takes some answers. */
int range_over(struct debug *d, const char *args, struct buf *out, struct err *e);
/* A step of thread tid that goes on while it is in d->range, and nothing else stops it. */
int range_step(struct debug *d, pid_t tid, struct stop *stop, struct err *e);

#endif
