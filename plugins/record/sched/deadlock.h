/* SPDX-License-Identifier: MIT */
/*
 * deadlock.h: recording one thread at a time: do all threads wait for each other? Which thread runs when one has ended?
 */
#ifndef FRED_RECORD_DEADLOCK_H
#define FRED_RECORD_DEADLOCK_H

#include "record/core/state.h"

/* t, which runs, is about to wait for another thread, or to end. others_wait: does another thread wait for its turn? */
void deadlock_look(const struct thr *t, int (*others_wait)(const struct thr *t));
void deadlock_over(void); /* a thread goes on */
void ending_begin(const struct thr *t); /* the calling thread ends, and is about to let the next one go on */
void ending_wait(void); /* which does so here */

#endif
