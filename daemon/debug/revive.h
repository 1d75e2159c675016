/* SPDX-License-Identifier: MIT */
/*
 * revive.h: processes of a session that somebody killed, or the kernel for want of memory. What they were is in the recording: others take
 * their place, where the debugger believes the program to be.
 */
#ifndef FRED_DEBUG_REVIVE_H
#define FRED_DEBUG_REVIVE_H

#include "debug/debug.h"

/*
 * A command has failed with e. True: because a process was killed. What was left of the others is gone: it stands nowhere; e becomes what a user
 * is to know.
 */
bool revive_clear(struct debug *d, struct err *e);
/* As that, of whatever is asked while the program stands; and then back to where it stood (d->state.here). True: to be asked again. */
bool revive(struct debug *d, struct err *e);

#endif
