/* SPDX-License-Identifier: MIT */
/* waits.c: publishes what the threads of this process wait for, so that other processes can read it: rlog/waits.h. */
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/event/cs.h"
#include "record/event/ev.h"
#include "record/sched/wait.h"

static struct rlog_waits where(void)
{
	return (struct rlog_waits){
		.threads = (uint64_t)G.thr,
		.thread_size = sizeof(struct thr),
		.next_thread = (uint64_t)&G.next_thread,
		.group = (uint64_t)&G.group,
		.handlers = (uint64_t)&sig_user_handlers[0],
		.handler_size = sizeof(sig_user_handlers[0]),
		.at_tid = offsetof(struct thr, tid),
		.at_shown_tid = offsetof(struct thr, shown_tid),
		.at_exited = offsetof(struct thr, exited),
		.at_blocking = offsetof(struct thr, blocking),
		.at_kind = offsetof(struct thr, internal),
		.at_object = offsetof(struct thr, waits),
		.at_caller = offsetof(struct thr, caller),
		.at_log = offsetof(struct thr, log.cur),
	};
}

void waits_tell(void)
{
	struct rlog_control *c = G.control;
	uint32_t i;

	if (G.mode == SHIM_REPLAY)
		G.ctl->waits = where();
	if (__atomic_exchange_n(&G.waits_told, 1, __ATOMIC_RELAXED) || G.mode != SHIM_RECORD)
		return;
	i = c ? __atomic_fetch_add(&c->waiting_count, 1, __ATOMIC_RELAXED) : RLOG_WAITING;
	if (i >= RLOG_WAITING)
		return;
	c->waiting[i].process = G.process;
	c->waiting[i].pid = (uint64_t)G.pid;
	c->waiting[i].at = where();
	__atomic_store_n(&c->waiting[i].ready, 1, __ATOMIC_RELEASE);
}

void cs_pause(struct thr *t)
{
	if (!t->clean)
		ev(t, RLOG_YIELD, 0, 0, 0);
	cs_release(t);
	t->cs_paused = 1;
}
