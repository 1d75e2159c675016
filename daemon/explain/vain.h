/* SPDX-License-Identifier: MIT */
/*
 * vain.h: a thread that waits for something that does not happen, or not in time: the wake-up came before it waited, or
 * woke another thread; its condition was already true when it began to wait; or the condition became false again.
 */
#ifndef FRED_EXPLAIN_VAIN_H
#define FRED_EXPLAIN_VAIN_H

#include "chain/explain.h"

struct vain {
	uint32_t thread; /* its number */
	uint64_t wait; /* the event with which it began to wait */
	uint64_t until; /* the last event of its wait */
	const char *bad; /* the position at which it still waits, or has given up; NULL: the end */
	uint64_t object; /* a condition or a semaphore; 0: not known, or something else */
	bool uncertain; /* another thread has the condition's mutex: it may have been woken, and wait for that */
	bool limited; /* its wait ends without a wake-up, too */
	bool semaphore; /* which is one that is not used as a lock */
	bool others; /* another thread lives that may still wake it, though it never did */
};

/*
 * Adds steps to the chain and says why it ends. 0: a cause was found; 1: none; -1. Afterwards the cursor may stand
 * anywhere.
 */
int vain_explain(struct explain *x, const struct vain *v, struct err *e);
/*
 * Is the condition false at the end for which the thread waits in a loop? Then it waits in vain for certain. -1: the
 * replay failed. The cursor may stand anywhere afterwards.
 */
int vain_is_satisfied(struct explain *x, const struct vain *v, struct err *e);
/*
 * The cursor stands at a call of the library that returned what says that a time-out has expired: was it a wait for
 * another thread? As above.
 */
int vain_explain_timeout(struct explain *x, struct err *e);

/*
 * For a thread that waits for a semaphore, or for a read-write lock that readers have: the thread that has acquired it
 * and not released it, perhaps the waiter itself. 0: none or several, or it is released by threads that never acquired
 * it.
 */
uint32_t vain_owner(struct explain *x, uint32_t waiter, uint64_t object);

#endif
