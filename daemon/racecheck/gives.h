/* SPDX-License-Identifier: MIT */
/*
 * gives.h: functions of libc that allocate a block for their caller, such as strdup. Other blocks that libc allocates
 * are its own: what it does there is ordered by its own locks.
 */
#ifndef FRED_RACECHECK_GIVES_H
#define FRED_RACECHECK_GIVES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/table.h"
#include "instrument/imports.h"

struct gives {
	struct imports imports;
	struct table calls; /* that have been looked at */
};

void gives_init(struct gives *g);
void gives_fini(struct gives *g);
/* Code has gone, and other code may be at its addresses. */
void gives_forget(struct gives *g);
/* Does the call at pc, in the process, reach one of these functions? */
bool gives_is_call(struct gives *g, pid_t pid, uint64_t pc);

#endif
