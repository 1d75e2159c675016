/* SPDX-License-Identifier: MIT */
/*
 * connect.c: the functions of upper folders that lower ones call. A folder includes and calls only folders below it.
 * Where it has to start something in a folder above it, such as the program's signal handler at an event, it has a
 * table of functions, which is filled here.
 */
#include "record/chaos/interrupts.h"
#include "record/core/sigaction.h"
#include "record/core/state.h"
#include "record/event/hooks.h"
#include "record/preempt/interrupt.h"
#include "record/preempt/lookahead.h"
#include "record/sched/chaos.h"
#include "record/sched/gil.h"
#include "record/shm/group.h"
#include "record/signal/sig.h"
#include "record/start/start.h"
#include "record/sync/heap.h"

static const struct event_hooks at_events = {
	.deliver_pending = sig_deliver_pending,
	.stamped = gil_point,
	.join = gil_join,
	.step = step_begin,
	.deliver_replay = sig_deliver_replay,
	.deliver_waiting = sig_deliver_waiting,
	.take_pages = pages_replay,
	.seek = seek_begin,
	.looks_ahead = lookahead_event,
	.snapshot = turn_snap,
};

static const struct sig_handlers handlers = {
	.program = sig_entry,
	.trap = trap_handler,
	.preempt = interrupt_handler,
};

static const struct gil_group other_processes = {
	.enter = group_enter,
	.leave = group_leave,
	.yield = group_yield,
	.wanted = group_wanted,
};

static const struct chaos_ops interrupts = {
	.begin = step_init,
	.begin_hot = hot_init,
	.see = hot_see,
	.event = hot_event,
	.arm = hot_arm,
	.holds = hot_holds,
	.runs = step_runs,
	.page = hot_page,
	.look = split_look,
	.write = split_write,
	.resumes = hot_resumes,
	.steps = step_resumes,
};

void connect_folders(void)
{
	event_hooks = at_events;
	sig_handlers = handlers;
	gil_group = other_processes;
	chaos_ops = interrupts;
	heap_write = writev;
}
