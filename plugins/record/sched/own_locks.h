/* SPDX-License-Identifier: MIT */
/* own_locks.h: does the program have locks of its own, which the recorder does not wrap? */
#ifndef FRED_RECORD_OWN_LOCKS_H
#define FRED_RECORD_OWN_LOCKS_H

#include "record/core/state.h"

/* Goes over to serial if an object that was loaded since the last look has locks of its own. */
void own_locks_look(struct thr *t);
/* The same at a call of futex, unless libc itself made it. */
void own_locks_futex(struct thr *t);

#endif
