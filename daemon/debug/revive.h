/* SPDX-License-Identifier: MIT */
/*
 * revive.h: replaces processes of a session that were killed, by somebody or by the kernel for lack of memory. The
 * recording has everything that is needed to make new ones in the state that the debugger was told last.
 */
#ifndef FRED_DEBUG_REVIVE_H
#define FRED_DEBUG_REVIVE_H

#include "debug/debug.h"

/*
 * A command has failed with e. True: because a process was killed. The other processes are then ended too
 * (CURSOR_NOWHERE), and e becomes a message for the user.
 */
bool revive_clear(struct debug *d, struct err *e);
/*
 * As revive_clear, for a request that failed while the program stands; then goes to where the program stood
 * (d->state.here). True: try the request again.
 */
bool revive(struct debug *d, struct err *e);

#endif
