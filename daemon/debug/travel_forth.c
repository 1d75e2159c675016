/* SPDX-License-Identifier: MIT */
/*
 * travel_forth.c: forwards: to the next stop, and steps. A step over the end of a thread's segment is made where its next one
 * begins: up to there the others run at full speed, and where segments end in the middle of the program, because somebody was
 * interrupted there (inside_end.c), nobody is stepped on his way to such a place.
 */
#include "debug/inside_int.h"
#include "debug/travel_int.h"

/*
 * From TRAVEL_GROUP to the next stop, or event `until` (STOP_LIMIT), and no fork is followed on the way. Who has run for long will
 * go back: that is to be near.
 */
static int run_from_here(struct travel *t, pid_t step, uint64_t until, struct stop *stop, struct err *e)
{
	uint64_t cuts[TRAVEL_CUTS], total = travel_total(t), at = 0;
	unsigned n = travel_cuts(t, 1, total, cuts);

	for (unsigned i = 0; i < n && cuts[i] < until; i++) {
		if (cuts[i] <= nav_at(t->nav) || (nav_ckpt_before(t->nav, cuts[i], &at) && at == cuts[i]))
			continue;
		if (travel_run(t, step, cuts[i], stop, e))
			return -1;
		if (stop->kind != STOP_LIMIT)
			return 0;
		if (travel_checkpoint(t, e))
			return -1;
	}
	if (travel_run(t, step, until, stop, e))
		return -1;
	return t->edge.on && until == total && stop->kind == STOP_LIMIT ? travel_enter_last(t, step, stop, e) : 0;
}

/* As that, over forks. */
static int run_on(struct travel *t, pid_t step, uint64_t until, struct stop *stop, struct err *e)
{
	uint64_t fork;
	int r;

	for (;;) {
		if (travel_next_fork(t, nav_at(t->nav), &fork, e))
			return -1;
		if (!fork || fork > until)
			return run_from_here(t, step, until, stop, e);
		if (travel_run(t, step, fork - 1, stop, e))
			return -1;
		if (stop->kind != STOP_LIMIT)
			return 0;
		if (travel_stand(t, e) < 0)
			return -1;
		r = travel_run_fork(t, fork, &step, stop, e);
		if (r <= 0)
			return r;
	}
}

/*
 * The segment ends where its thread was interrupted: the process itself, which finds that, makes the way again, past the stops up
 * to here.
 */
static int go_again(struct travel *t, pid_t step, uint64_t until, struct stop *stop, struct err *e)
{
	uint64_t k, pc, n = t->in.n;

	if (inside_count_stops(&t->in, &t->breaks, &k, e) || trace_get_pc(&t->in.now, &pc, e))
		return -1;
	k += breaks_has(&t->breaks, pc) && inside_meets(&t->breaks, &t->in.now);
	if (travel_hold(t, n, e))
		return -1;
	do
		if (run_on(t, step, until, stop, e))
			return -1;
	while (k-- && nav_at(t->nav) == n && stop->kind != STOP_INTERRUPT && stop->kind != STOP_END);
	return 0;
}

/* As run_on, from wherever it stands; from inside a segment, `step` is not the thread there. */
static int run(struct travel *t, pid_t step, uint64_t until, struct stop *stop, struct err *e)
{
	if (t->mode == TRAVEL_GROUP)
		return run_on(t, step, until, stop, e);
	if (inside_ends_in_program(&t->in))
		return go_again(t, step, until, stop, e);
	if (inside_run(&t->in, &t->breaks, stop, e))
		return -1;
	t->tid = t->in.seg.tid;
	if (stop->kind != STOP_OVER)
		return 0;
	/* the process itself does the event and goes on */
	return travel_cross(t, &step, e) || run_on(t, step, until, stop, e) ? -1 : 0;
}

static int go_on(struct travel *t, struct stop *stop, struct err *e)
{
	if (t->mode == TRAVEL_INSIDE && travel_is_last(t))
		return travel_run_to_edge(t, false, &t->breaks, stop, e);
	return run(t, 0, t->most && t->most < travel_total(t) ? t->most : travel_total(t), stop, e);
}

static int step_last(struct travel *t, pid_t tid, struct stop *stop, struct err *e)
{
	bool there;

	if (tid != t->in.seg.tid)
		return travel_run_to_edge(t, false, &t->breaks, stop, e);
	if (travel_at_edge(t, &there, e))
		return -1;
	*stop = (struct stop){.kind = STOP_END};
	return there ? 0 : inside_step(&t->in, &t->breaks, stop, e);
}

/* To the first visible state behind event n, at which the process stands. STOP_LIMIT: there is none; it stands at the next one. */
static int enter(struct travel *t, uint64_t n, struct stop *stop, struct err *e)
{
	int r = travel_enter(t, n, e);

	*stop = (struct stop){.kind = r ? STOP_LIMIT : STOP_STEP};
	return r > 0 ? travel_hold(t, n + 1, e) : r;
}

static int step_inside(struct travel *t, struct stop *stop, struct err *e);

/* A thread that stands in its segment `ahead`, or, fresh, before it. STOP_LIMIT: it comes out at its end without a visible state. */
static int step_segment(struct travel *t, pid_t tid, bool fresh, struct stop *stop, struct err *e)
{
	if (!t->ahead.soft)
		return run_on(t, tid, t->ahead.end, stop, e);
	if (!fresh)
		return travel_go_inside(t, e) || step_inside(t, stop, e) ? -1 : 0;
	return enter(t, t->ahead.n, stop, e);
}

/* fresh: it stands at an event, with all threads held, where the step is not over yet. */
static int step_from(struct travel *t, pid_t tid, bool fresh, struct stop *stop, struct err *e)
{
	uint64_t total = travel_total(t), fork;
	uint32_t who = travel_ordinal(t, tid);

	if (travel_next_fork(t, travel_event(t), &fork, e))
		return -1;
	if (fork) /* behind which all threads are others */
		return run(t, tid, total, stop, e);
	for (;; fresh = true) {
		uint64_t n = travel_event(t);

		if (ahead_find(&t->ahead, t->nav->t.tl, total, who, n, e))
			return -1;
		if (t->ahead.n == total)
			return run(t, tid, total, stop, e);
		if (n < t->ahead.n) {
			if (run(t, 0, t->ahead.n, stop, e))
				return -1;
			if (stop->kind != STOP_LIMIT)
				return 0;
			fresh = true;
		}
		if (step_segment(t, tid, fresh, stop, e))
			return -1;
		if (stop->kind != STOP_LIMIT || travel_event(t) == total)
			return 0;
	}
}

/* The thread that moves here. */
static int step_inside(struct travel *t, struct stop *stop, struct err *e)
{
	pid_t tid = t->in.seg.tid;
	struct stop met;

	if (inside_step(&t->in, &t->breaks, stop, e))
		return -1;
	t->tid = tid;
	if (stop->kind != STOP_OVER)
		return 0;
	met = *stop;
	if (travel_cross(t, &tid, e) || step_from(t, tid, true, stop, e))
		return -1;
	if (stop->kind == STOP_STEP && met.watch)
		*stop = (struct stop){STOP_WATCH, 0, met.addr, met.watch};
	return 0;
}

static int step(struct travel *t, pid_t tid, struct stop *stop, struct err *e)
{
	if (t->mode == TRAVEL_INSIDE && travel_is_last(t))
		return step_last(t, tid, stop, e);
	return t->mode == TRAVEL_INSIDE && tid == t->in.seg.tid ? step_inside(t, stop, e)
								  : step_from(t, tid, false, stop, e);
}

/* At the end all threads stand in the shim: what a user wants to see is where the last one came from. */
static int show_end(struct travel *t, const struct stop *stop, struct err *e)
{
	return stop->kind == STOP_END && !t->edge.on && travel_last(t, e) < 0 ? -1 : 0;
}

/* Neither where a user sees the program, nor at the entry of a call into the shim. 1: yes. */
static int is_hidden(struct travel *t, struct err *e)
{
	struct trace *th = travel_thread(t, t->tid, e);
	struct user_regs_struct r;

	if (!th || trace_get_regs(th, &r, e))
		return -1;
	return outside_is_within(&t->outside, &t->sight, th->pid, &r);
}

/* A watched word was written by the shim, as by a read(): that is seen where the call returns. */
static int come_out(struct travel *t, struct stop *stop, struct err *e)
{
	while (stop->kind == STOP_WATCH) {
		struct stop next = {0};
		int hidden = is_hidden(t, e);

		if (hidden <= 0)
			return hidden;
		if (step(t, t->tid, &next, e))
			return -1;
		if (next.kind != STOP_STEP)
			*stop = next;
	}
	return 0;
}

int travel_continue_few(struct travel *t, struct stop *stop, struct err *e)
{
	int r;

	t->breaks.libraries = true;
	r = go_on(t, stop, e) || come_out(t, stop, e) ? -1 : 0;
	t->breaks.libraries = false;
	travel_see_signal(t, stop);
	return r ? -1 : show_end(t, stop, e);
}

int travel_step_few(struct travel *t, pid_t tid, struct stop *stop, struct err *e)
{
	int r;

	t->breaks.libraries = true;
	r = step(t, tid, stop, e) || come_out(t, stop, e) ? -1 : 0;
	t->breaks.libraries = false;
	travel_see_signal(t, stop);
	/* GDB 13 forgets that one thread is stepped when it hears of libraries from another (TARGET_WAITKIND_LOADED) */
	if (stop->kind == STOP_LIBRARY && t->tid != tid)
		stop->kind = STOP_BREAK;
	return r ? -1 : show_end(t, stop, e);
}
