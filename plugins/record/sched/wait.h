/* SPDX-License-Identifier: MIT */
/*
 * wait.h: what is done before and after a call that may wait: others may run meanwhile, and what the thread waits for
 * is published.
 */
#ifndef FRED_RECORD_WAIT_H
#define FRED_RECORD_WAIT_H

#include "record/core/state.h"
#include "record/event/cs.h"
#include "record/event/ev.h"
#include "record/event/hooks.h"
#include "record/sched/gil.h"

void waits_tell(void); /* says outside where this process keeps what its threads wait for: rlog/waits.h */
void cs_pause(struct thr *t); /* recording in parallel, with the turn of cs.c: before a call that may wait */

/*
 * Replay: shows what an acquire waits for, from the beginning of its wait for its turn to the end, to the worker that
 * looks at a position: the thread may also wait for the object there. limited: as WAIT_LIMITED says.
 */
static inline void wait_is_shown(struct thr *t, const void *obj, enum wait_kind kind, int limited)
{
	if (unlikely(G.mode != SHIM_REPLAY))
		return;
	if (unlikely(!G.ctl->waits.threads))
		waits_tell();
	t->internal = kind | (limited ? WAIT_LIMITED : 0);
	t->waits[0] = obj;
	t->waits[1] = 0;
}

static inline void wait_was_shown(struct thr *t)
{
	if (unlikely(G.mode == SHIM_REPLAY))
		t->internal = 0;
}

/*
 * Before wait_begin: what the thread will wait for. kind: WAIT_OTHER with a time limit. For a thread's end, obj is its
 * struct thr, or NULL.
 */
static inline void wait_of(struct thr *t, const void *obj, enum wait_kind kind)
{
	if (unlikely(!G.waits_told))
		waits_tell();
	t->internal = kind;
	t->waits[0] = obj;
}

/*
 * Before wait_begin, recording in parallel: the object is not free. Writes a record of that, so that a replay shows the
 * thread in this call for as long as it waits, even if the recording ends meanwhile. In serial recordings, and with the
 * turn of cs.c, a wait has such a record in any case.
 */
static inline void wait_is_seen(struct thr *t)
{
	if (G.mode == SHIM_RECORD && !G.serial && !t->cs)
		ev(t, RLOG_YIELD, 0, 0, 0);
}

/*
 * Recording: from here on, a signal handler runs at once, and writes its records where it interrupts. So the records of
 * handlers of waiting signals are written while others still queue.
 */
static inline void wait_lets_signals_in(struct thr *t)
{
	t->blocking = 1;
	while (unlikely(t->pending)) {
		t->blocking = 0;
		event_hooks.deliver_pending(t);
		t = self;
		t->blocking = 1;
	}
}

/* Recording: around a real call that may wait, after its stamped record: a handler runs at once. */
static inline void wait_begin_event(struct thr *t)
{
	if (unlikely(G.serial) && G.mode == SHIM_RECORD) {
		gil_block(t);
		return;
	}
	if (unlikely(t->cs))
		cs_pause(t);
	wait_lets_signals_in(t);
}

/* The same in an acquire, whose record is written after the wait. */
static inline void wait_begin(struct thr *t)
{
	t->clean = 0;
	t->unrecorded = 1;
	wait_begin_event(t);
}

static inline void wait_end(struct thr *t)
{
	t->blocking = t->unrecorded = 0;
	t->internal = 0;
	t->waits[0] = t->waits[1] = 0;
	if (unlikely(G.serial))
		gil_unblock(t);
	else if (unlikely(t->cs_paused))
		cs_resume(t);
}

#endif
