/* SPDX-License-Identifier: MIT */
/*
 * signal_handlers.h: where the shim calls a handler of the program's for a signal that was sent to it. A recorded one comes at an
 * event, so that this is the place at which a debugger stops for it. What a user sees there is where the program was (shim_frames_find).
 * (A fault is what the program does itself; the kernel reports it where that happens.)
 */
#ifndef FRED_VISIBILITY_SIGNAL_HANDLERS_H
#define FRED_VISIBILITY_SIGNAL_HANDLERS_H

#include "visibility/visibility.h"

/* The address of that call, known by its code, so that the recorder of an older recording has one too; 0: it is not found. */
uint64_t handlers_find(pid_t pid, const struct visibility *s);
/* Of a thread at the call: the signal. */
int handlers_signal(const struct user_regs_struct *r);

#endif
