/* SPDX-License-Identifier: MIT */
/*
 * held.h: SIGSEGV and SIGTRAP, sent while the program has blocked them: the recorder needs them itself, so the kernel
 * does not block them (t->hidden). They are kept here until the program unblocks them, and given back to the kernel for
 * the calls that look for pending signals: sigpending, sigtimedwait, a signalfd, a wait with another mask.
 */
#ifndef FRED_RECORD_HELD_H
#define FRED_RECORD_HELD_H

#include "record/core/state.h"

/*
 * Called in the handler of a signal that was sent. 1: the program has blocked the signal; it is kept, or was passed to
 * another thread.
 */
int held_keep(struct thr *t, const siginfo_t *si);
/*
 * The thread's mask changes, or has changed. Signals that the program no longer blocks are sent again at once; those in
 * the thread's queue are delivered at its next event.
 */
void held_release(struct thr *t);
/*
 * Around a call of the calling thread t: while it runs, the kept signals are pending in the kernel. `shows` tells
 * whether the call looks for pending signals.
 */
int held_shows(const struct thr *t, long nr);
void held_show(struct thr *t);
void held_hide(struct thr *t);
void held_fork_child(struct thr *t); /* nothing is pending there */

#endif
