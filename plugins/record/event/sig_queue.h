/* SPDX-License-Identifier: MIT */
/*
 * sig_queue.h: signals that came while a thread could not handle them, in the order in which they came. The kernel has
 * delivered them, so calls that look for pending signals do not find them there: see sig_queue_show.
 */
#ifndef FRED_RECORD_SIG_QUEUE_H
#define FRED_RECORD_SIG_QUEUE_H

#include "record/core/sigaction.h"
#include "record/core/state.h"

/* Blocked while the queue is touched: the program may use SIG_PREEMPT, too. */
#define SIG_QUEUE_BLOCKS (~SIG_OURS | SIG_BIT(SIG_PREEMPT))

/*
 * t->pending is set while one of them may be let in by the thread's mask. The caller must block
 * SIG_QUEUE_BLOCKS. A real-time signal is queued each time that it is sent. One below 32 may be merged with one of the
 * same number that waits already, as in the kernel.
 */
void sig_queue_put(struct thr *t, const siginfo_t *si);
/*
 * Takes out the signal that the kernel would deliver first, of those that are not in the mask `blocked`: one of those
 * that faults raise, with the lowest number, else the oldest. 0: there is none.
 */
int sig_queue_take(struct thr *t, uint64_t blocked, siginfo_t *si);
void sig_queue_drop(struct thr *t); /* drops all: the thread ends, or is now in another process */
/*
 * All signals in the queue are blocked now. Gives those back to the kernel that another thread might handle, and those
 * of which the kernel keeps at most one. The others stay: otherwise a handler that blocks its own signal would have all
 * of them given back and taken again each time that it runs.
 */
void sig_queue_keep(struct thr *t);
/* Before a call of the calling thread t: if it looks for pending signals, those that are blocked are given back. */
void sig_queue_show(struct thr *t, long nr);

#endif
