/* SPDX-License-Identifier: MIT */
/*
 * cancel.h: cancellation inside a real call that waits: the thread never comes back from it. The event
 * then says ECANCELED, and on replay the thread acts on the cancellation at the same place.
 */
#ifndef FRED_RECORD_CANCEL_H
#define FRED_RECORD_CANCEL_H

#include "record/core/state.h"
#include "record/event/ev.h"
#include "record/event/turn.h"
#include "record/sched/wait.h"

#include <errno.h>

struct wait_cancel {
	enum rlog_kind kind;
	const void *obj;
};

static inline void wait_cancelled(void *p)
{
	struct wait_cancel *w = p;
	struct thr *t = self;
	int64_t ret = w->kind == RLOG_SEM_WAIT ? -ECANCELED : ECANCELED;

	t->selector = 0;
	t->depth = 1;
	t->cancel.waits = 0;
	wait_end(t);
	if (w->kind == RLOG_COND_WOKE)
		ev_half(t, w->kind, &ret, 0);
	else
		ev(t, w->kind, w->obj, (uint64_t)ret, 0);
	shim_leave_quiet(t);
}

/* Runs the call `real` into ret as one that may wait and be cancelled. */
#define CANCELLABLE(t, kind, obj, ret, real)                                                                           \
	do {                                                                                                           \
		struct wait_cancel wait_cancel_ = {kind, obj};                                                         \
                                                                                                                       \
		pthread_cleanup_push(wait_cancelled, &wait_cancel_);                                                   \
		if ((kind) == RLOG_COND_WOKE)                                                                          \
			wait_begin_event(t);                                                                           \
		else                                                                                                   \
			wait_begin(t);                                                                                 \
		(t)->cancel.waits = 1;                                                                                 \
		ret = real;                                                                                            \
		(t)->cancel.waits = 0;                                                                                 \
		wait_end(t);                                                                                           \
		pthread_cleanup_pop(0);                                                                                \
	} while (0)

/* Replay: takes the record of such a wait, `take`, with the handlers that ran in it. */
#define REPLAY_CANCELLABLE(t, take)                                                                                    \
	do {                                                                                                           \
		(t)->cancel.waits = 1;                                                                                 \
		take;                                                                                                  \
		(t)->cancel.waits = 0;                                                                                 \
	} while (0)

/* Replay: the recorded wait ended by cancellation. */
static inline void replay_cancelled(struct thr *t)
{
	shim_leave_quiet(t);
	pthread_testcancel();
	shim_fail("a thread was cancelled here when recording, but not now");
}

#endif
