/* SPDX-License-Identifier: MIT */
/*
 * hooks.h: what happens at an event, in the folders above this one. start/connect.c fills the table before anything
 * else.
 */
#ifndef FRED_RECORD_EVENT_HOOKS_H
#define FRED_RECORD_EVENT_HOOKS_H

#include "record/core/state.h"

#include <ucontext.h>

struct event_hooks {
	/* recording */
	void (*deliver_pending)(struct thr *t); /* runs the handlers of signals that wait: signal/sig.c */
	void (*stamped)(struct thr *t); /* serially, after a stamped record: lets others run: sched/gil.c */
	void (*join)(
		struct thr *t); /* at the end of an event: a thread that ran in parallel until now: sched/gil_start.c */
	void (*step)(struct thr *t, ucontext_t *uc); /* at the end of a call: chaos/chaos_step.c */
	/* replaying */
	/* Runs the handler, if the next record is a SIGNAL. 0: it is not. waiting: also one that came in a wait before
	 * that. */
	int (*deliver_replay)(struct thr *t);
	int (*deliver_waiting)(struct thr *t);
	void (*take_pages)(struct thr *t); /* applies the changes that the next records contain: shm/pages.c */
	void (*seek)(struct thr *t); /* the next record is a PREEMPT: preempt/seek.c */
	void (*looks_ahead)(void); /* an event was reached in a copy that looks ahead: preempt/lookahead.c */
	long (*snapshot)(
		struct replay_ctl *c); /* REPLAY_CMD_SNAP: the PID of a copy that has left the timeline; or -errno */
};
extern struct event_hooks event_hooks;

#endif
