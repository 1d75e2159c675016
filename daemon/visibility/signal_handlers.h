/* SPDX-License-Identifier: MIT */
/*
 * signal_handlers.h: the instruction of the shim that calls a signal handler of the program. A signal that was sent is
 * delivered at an event, so a debugger stops for it here; what the user is shown is the frame that the signal
 * interrupted (shim_frames_find). A fault is raised by an instruction of the program, and the kernel reports it there.
 */
#ifndef FRED_VISIBILITY_SIGNAL_HANDLERS_H
#define FRED_VISIBILITY_SIGNAL_HANDLERS_H

#include "visibility/visibility.h"

/*
 * The address of that call in the shim's text. It is recognised by its code, so it is found in the recorder of an older
 * recording too. 0: not found.
 */
uint64_t handlers_find(pid_t pid, const struct text *shim);
/* The signal whose handler a thread at that call will enter next. */
int handlers_signal(const struct user_regs_struct *r);

#endif
