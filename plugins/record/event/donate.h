/* SPDX-License-Identifier: MIT */
/* donate.h: replay: a thread that waits for a lock inside libc, of which no event tells, donates its turn. */
#ifndef FRED_RECORD_DONATE_H
#define FRED_RECORD_DONATE_H

#include "record/core/state.h"

/* A futex call of libc. In replay a wait donates the turn to those who may hold the lock: see donate.c. */
long turn_futex(struct thr *t, const long *a);
/* A thread that runs in a donated turn comes to a record. */
void donate_end(struct thr *t);

#endif
