/* SPDX-License-Identifier: MIT */
/*
 * outside.h: a thread that waits its turn stands deep in the shim. What a user wants to see is the library call that it
 * is in: the shim's frame that the program called, or, where a signal handler of the shim's interrupted it, that place.
 */
#ifndef FRED_DEBUG_OUTSIDE_H
#define FRED_DEBUG_OUTSIDE_H

#include <elfutils/libdwfl.h>

#include "debug/sight.h"

struct outside {
	Dwfl *dwfl; /* knows how the shim's frames are unwound; NULL: not opened yet */
	int mem; /* /proc/PID/mem of the process that is looked at */
	const struct user_regs_struct *from;
	uint64_t base; /* where the shim is mapped */
};

/*
 * *r, the registers of a stopped thread of pid, become those of that frame: what a call does not preserve is not to
 * be relied on there. Unchanged when the thread is not in the shim, or its frames cannot be unwound.
 */
void outside_find(struct outside *o, const struct sight *s, pid_t pid, struct user_regs_struct *r);
void outside_fini(struct outside *o);

#endif
