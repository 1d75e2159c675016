/* SPDX-License-Identifier: MIT */
/*
 * cursor_signals.c: signals as stops. A signal that was sent is met by a breakpoint where the shim calls its handler
 * (visibility/signal_handlers.h), so that both directions count it like other breakpoints.
 */
#include "rlog/rlog.h"
#include "segcursor/segcursor_int.h"
#include "timetravel/cursor_int.h"
#include "visibility/signal_handlers.h"

void cursor_stop_at_signals(struct cursor *t)
{
	t->breaks.signals = true;
	if (t->visibility.handlers)
		breaks_add(&t->breaks, t->visibility.handlers, BREAKS_HANDLERS);
}

void cursor_see_signal(struct cursor *t, struct stop *stop)
{
	struct user_regs_struct r;
	struct err ignored;

	if (stop->kind != STOP_BREAK && stop->kind != STOP_STEP)
		return;
	if (t->ops->regs(t, t->tid, &r, &ignored) || !visibility_is_call_of_handler(&t->visibility, r.rip))
		return;
	if (breaks_stops_at_signal(&t->breaks, handlers_signal(&r)))
		*stop = (struct stop){.kind = STOP_HANDLER, .sig = handlers_signal(&r)};
}

/* Is a fault reported, but not delivered yet? */
static int pending(struct cursor *t)
{
	const struct group_thread *th;

	if (t->mode == CURSOR_INSIDE)
		return t->tid == t->in.seg.tid && t->in.sig < 0 ? -t->in.sig : 0;
	th = group_find(&t->group, t->tid);
	return th ? th->sig : 0;
}

/* Raises the fault again in a copy. */
static int raise_again(struct cursor *t, int sig, siginfo_t *info, struct err *e)
{
	struct trace copy;
	struct trace_stop s;
	int r;

	if (cursor_copy(t, &copy, e))
		return -1;
	r = trace_step(&copy, 0, &s, e);
	if (!r && (s.why != TRACE_SIGNAL || s.info.si_signo != sig))
		r = err_set(e, ERR_INTERNAL, "signal %d does not arrive again", sig);
	*info = s.info;
	segcur_drop(&copy);
	return r;
}

int cursor_siginfo(struct cursor *t, siginfo_t *info, struct err *e)
{
	struct user_regs_struct r;
	struct trace *th = cursor_thread(t, t->tid, e);
	int sig = pending(t);

	if (!th || !th->alive || trace_get_regs(th, &r, e))
		return -1;
	if (visibility_is_call_of_handler(&t->visibility, r.rip))
		return trace_read(th->pid, r.rsi, info, sizeof(*info), e);
	if (sig)
		return raise_again(t, sig, info, e);
	return err_set(e, ERR_NOT_FOUND, "no signal stopped the program");
}

static bool are_recorded(struct cursor *t)
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

/* The logs do not tell whether there will be faults: they are stops if there was one before. */
bool cursor_has_signals(struct cursor *t)
{
	if (!t->signals)
		t->signals = are_recorded(t) ? 1 : -1;
	return t->breaks.signals && (t->signals > 0 || t->faults);
}
