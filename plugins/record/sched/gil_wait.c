/* SPDX-License-Identifier: MIT */
/*
 * gil_wait.c: recording one thread at a time: giving the turn up around a call that may wait. A YIELD is logged there
 * when the last record is none of its own that is stamped.
 */
#include "record/event/ev.h"
#include "record/event/hooks.h"
#include "record/event/sig_queue.h"
#include "record/sched/deadlock.h"
#include "record/sched/gil.h"

static void leave_to_wait(struct thr *t)
{
	if (t->pending) {
		event_hooks.deliver_pending(t);
		t->clean = 0;
	}
	if (!t->clean)
		ev(t, RLOG_YIELD, 0, 0, 0);
	if (t->internal)
		deadlock_look(t, gil_wanted);
	gil_release(t);
	t->blocking = 1;
}

/*
 * Signals came while it gave the turn up. Perhaps they come faster than it gets the turn: those that come from here on
 * interrupt the call.
 */
static void leave_in_flood(struct thr *t)
{
	uint64_t all = SIG_QUEUE_BLOCKS & ~SIG_SYNCHRONOUS, old;

	t->blocking = 0;
	gil_acquire(t);
	for (;;) {
		raw4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, 8);
		if (!t->pending || sig_queue_return(t))
			break;
		raw4(SYS_rt_sigprocmask, SIG_SETMASK, &old, 0, 8);
		event_hooks.deliver_pending(t);
		t->clean = 0;
	}
	leave_to_wait(t);
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, &old, 0, 8);
}

void gil_block(struct thr *t)
{
	leave_to_wait(t);
	if (t->pending)
		leave_in_flood(t);
}

void gil_unblock(struct thr *t)
{
	t->blocking = 0;
	gil_acquire(t);
	sig_held_back_come(t);
}
