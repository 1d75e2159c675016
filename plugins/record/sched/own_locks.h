/* SPDX-License-Identifier: MIT */
/* own_locks.h: does the program have locks of its own, which the recorder does not wrap? */
#ifndef FRED_RECORD_OWN_LOCKS_H
#define FRED_RECORD_OWN_LOCKS_H

#include "record/core/state.h"

/* Goes over to serial if a library or the program, or one loaded since the last look, has locks of its own. */
void own_locks_look(struct thr *t);
/* The same at a futex call that is not libc's own. */
void own_locks_futex(struct thr *t);

#endif
