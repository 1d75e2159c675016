/* SPDX-License-Identifier: MIT */
/*
 * signals.c: signals as stops. One that was sent is met where the shim calls its handler (view/handlers.h): by a breakpoint
 * there, like others, so that both directions count it.
 */
#include "debug/debug.h"
#include "debug/inside_int.h"
#include "debug/travel_int.h"
#include "rlog/rlog.h"
#include "view/handlers.h"

void travel_stop_at_signals(struct travel *t)
{
	t->breaks.signals = true;
	if (t->sight.handlers)
		breaks_add(&t->breaks, t->sight.handlers, BREAKS_HANDLERS);
}

void travel_see_signal(struct travel *t, struct stop *stop)
{
	struct user_regs_struct r;
	struct err ignored;
	struct trace *th;

	if (stop->kind != STOP_BREAK && stop->kind != STOP_STEP)
		return;
	th = travel_thread(t, t->tid, &ignored);
	if (!th || !th->alive || trace_get_regs(th, &r, &ignored) || !sight_is_call_of_handler(&t->sight, r.rip))
		return;
	if (breaks_stops_at_signal(&t->breaks, handlers_signal(&r)))
		*stop = (struct stop){.kind = STOP_HANDLER, .sig = handlers_signal(&r)};
}

/* Of a fault that is told before it is delivered. */
static int pending(struct travel *t)
{
	const struct group_thread *th;

	if (t->mode == TRAVEL_INSIDE)
		return t->tid == t->in.seg.tid && t->in.sig < 0 ? -t->in.sig : 0;
	th = group_find(&t->group, t->tid);
	return th ? th->sig : 0;
}

/* A copy raises it again. */
static int raise_again(struct travel *t, int sig, siginfo_t *info, struct err *e)
{
	struct trace copy;
	struct trace_stop s;
	int r;

	if (travel_copy(t, &copy, e))
		return -1;
	r = trace_step(&copy, 0, &s, e);
	if (!r && (s.why != TRACE_SIGNAL || s.info.si_signo != sig))
		r = err_set(e, ERR_INTERNAL, "signal %d does not come again", sig);
	*info = s.info;
	inside_drop(&copy);
	return r;
}

int travel_siginfo(struct travel *t, siginfo_t *info, struct err *e)
{
	struct user_regs_struct r;
	struct trace *th = travel_thread(t, t->tid, e);
	int sig = pending(t);

	if (!th || !th->alive || trace_get_regs(th, &r, e))
		return -1;
	if (sight_is_call_of_handler(&t->sight, r.rip))
		return trace_read(th->pid, r.rsi, info, sizeof(*info), e);
	if (sig)
		return raise_again(t, sig, info, e);
	return err_set(e, ERR_NOT_FOUND, "no signal stopped the program");
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

void debug_tell_signal(struct debug *d, bool onwards)
{
	if (!onwards || d->later || d->jumped || divert_is_on(&d->divert))
		;
	else if (d->signalled && d->chooses && !d->passes)
		debug_say(d, "fred: the recorded program got this signal, and gets it here: a recording cannot be changed\n");
	else if (d->passes && (!d->signalled || d->passes != d->signal))
		debug_say(d, "fred: the recorded program did not get this signal here, and goes on as it did: a recording cannot be changed\n");
	d->passes = 0;
}
