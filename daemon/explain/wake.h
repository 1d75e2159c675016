/* SPDX-License-Identifier: MIT */
/*
 * wake.h: the events by which threads wake each other: conditions are signalled, semaphores are posted. An event has
 * only a short hash of its object; the state before the event tells which object it is, if there is such a state.
 */
#ifndef FRED_EXPLAIN_WAKE_H
#define FRED_EXPLAIN_WAKE_H

#include "explain/vain.h"

/* Is it the event of a wait for what another thread does? kind: of the recording (rlog.h). */
bool wake_is_waited_for(uint32_t kind);

/* Goes to the state before an event. 0; 1: its thread has none there; -1: cancelled. */
int wake_to_event(struct explain *x, uint64_t n, struct err *e);
/*
 * As wake_to_event, for an event of this thread. If that has no state before it, as an event within a system call, goes
 * to the latest of the few events before it of the thread that has one.
 */
int wake_to_event_of(struct explain *x, uint32_t thread, uint64_t n, struct err *e);

enum waited { WAITED_NOT, WAITED, WAITED_UNKNOWN };

/* Was the thread in a wait for the object just before event n? enum waited; -1. */
int wake_waited_at(struct explain *x, uint32_t thread, uint64_t object, uint64_t n, struct err *e);

/* What is known of the last wake-up. */
struct wake {
	uint64_t n; /* the event; 0: there is none */
	enum waited others; /* other threads waited for the object then; not asked for one before v->wait */
	bool may_have_woken; /* the thread may have been woken, and not have gone on since; or that is not known */
};

/* The last wake-up of v->object by another thread. 0; -1: cancelled, or the recording cannot be read. The cursor may
 * stand anywhere afterwards. */
int wake_read(struct explain *x, const struct vain *v, struct wake *w, struct err *e);

/*
 * If all threads that may have woken v->object, but for the one that waits, have ended: the event with which the one
 * ended that made the last wake-up, w->n. 0: another one may do it, also one of another process; or the thread waits
 * for the first time, so what it waits for may have been there; or that is not known.
 */
uint64_t wake_last_ended(struct explain *x, const struct vain *v, const struct wake *w);

#endif
