/* SPDX-License-Identifier: MIT */
/*
 * called.h: functions that the debugger calls are run in the diversion (debug/diversion.h); what they print is shown to
 * the user.
 */
#ifndef FRED_DEBUG_CALLED_H
#define FRED_DEBUG_CALLED_H

#include "debug/debug.h"

/*
 * Continues such a function, or makes one step in it. stop->kind STOP_OVER: it has ended the copy, and the user was
 * told.
 */
int called_run(struct debug *d, bool step, struct stop *stop, struct err *e);

#endif
