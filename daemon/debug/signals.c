/* SPDX-License-Identifier: MIT */
/*
 * signals.c: signals as stops. One that was sent is met where the shim calls its handler (view/handlers.h): by a breakpoint
 * there, like others, so that both directions count it; what a user sees is the handler's first instruction.
 */
#include "debug/travel_int.h"
#include "rlog/rlog.h"
#include "view/handlers.h"

void travel_stop_at_signals(struct travel *t)
{
	if (!t->handlers)
		t->handlers = handlers_find(travel_memory(t), &t->sight);
	t->breaks.signals = true;
	if (t->handlers)
		breaks_add(&t->breaks, t->handlers, BREAKS_HANDLERS);
}

/* Over the call itself. */
static int make_call(struct travel *t, struct err *e)
{
	struct group_thread *th;
	struct trace_stop s;
	struct stop stop;

	if (t->mode == TRAVEL_INSIDE)
		return inside_step(&t->in, NULL, &stop, e);
	th = group_find(&t->group, t->tid);
	return th && th->t.alive ? trace_step(&th->t, 0, &s, e) : 0;
}

int travel_enter_handler(struct travel *t, struct stop *stop, struct err *e)
{
	struct user_regs_struct r;
	struct trace *th;
	struct err ignored;

	if (!t->handlers || (stop->kind != STOP_BREAK && stop->kind != STOP_STEP))
		return 0;
	th = travel_thread(t, t->tid, &ignored);
	if (!th || !th->alive || trace_get_regs(th, &r, e))
		return th && th->alive ? -1 : 0;
	if (r.rip == t->handlers ? make_call(t, e) : !handlers_is_entry(t->handlers, travel_memory(t), &r))
		return r.rip == t->handlers ? -1 : 0;
	if (breaks_stops_at_signal(&t->breaks, handlers_signal(&r)))
		*stop = (struct stop){.kind = STOP_HANDLER, .sig = handlers_signal(&r)};
	return 0;
}

static bool are_recorded(struct travel *t)
{
	struct timeline_event ev;
	struct timeline_walk w;
	struct err ignored;
	bool found = false;

	if (timeline_walk_init(&w, t->nav->t.tl, nav_first(t->nav) + 1, &ignored))
		return true;
	while (!found && timeline_walk_next(&w, &ev, &ignored) > 0)
		found = ev.ev.rec.kind == RLOG_SIGNAL;
	timeline_walk_fini(&w);
	return found;
}

/* Whether there will be faults cannot be read in the logs: those are looked for that were met once. */
bool travel_has_signals(struct travel *t)
{
	if (!t->signals)
		t->signals = are_recorded(t) ? 1 : -1;
	return t->breaks.signals && (t->signals > 0 || t->faults);
}
