/* SPDX-License-Identifier: MIT */
/* sig_queue.h: signals that came while a thread could not handle them, in the order in which they came. */
#ifndef FRED_RECORD_SIG_QUEUE_H
#define FRED_RECORD_SIG_QUEUE_H

#include "record/core/state.h"

/*
 * t->pending says how many are in it. The caller must block all but the recorder's own signals. A real-time signal is
 * queued each time that it is sent. One below 32 may be merged with one of the same number that waits already, as in
 * the kernel.
 */
void sig_queue_put(struct thr *t, const siginfo_t *si);
/*
 * Takes out the one that the kernel would deliver first, of those that are not in the mask `blocked`: one of those that
 * faults raise, the lowest number first, else the oldest. 0: there is none.
 */
int sig_queue_take(struct thr *t, uint64_t blocked, siginfo_t *si);
void sig_queue_drop(struct thr *t); /* all of them: the thread ends, or it is another process's now */

#endif
