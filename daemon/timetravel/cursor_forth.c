/* SPDX-License-Identifier: MIT */
/*
 * cursor_forth.c: forwards: to the next stop, and steps. A step over the end of a thread's segment is made where its
 * next segment begins; up to there, the other threads run at full speed. No thread is single-stepped in a segment that
 * ends in the middle of the program (segcursor_run.c): a copy makes the step there.
 *
 * Where watched words are written very often without a stop, a copy finds out whether the rest of the segment has
 * stops. If not, the process passes it without watchpoints; else, after more such writes, the segment is entered, and
 * walked to the stop.
 */
#include <string.h>

#include "segcursor/segcursor_int.h"
#include "timetravel/cursor_int.h"

#define WRITES_FIRST SEGCUR_WRITES /* writes in a segment after which a copy examines the rest of it */
/* ... this number falls with each segment that was passed in this way, down to this */
#define WRITES_LEAST 8
#define WRITES_ENTER 10000u /* writes after which it is worth going back, to enter the segment */

/* A segment in which watched words are written very often. */
struct hot {
	uint64_t patience;
	uint64_t event; /* the segment may have stops */
	bool unknown; /* it is not known whether it has */
};

/* Goes up to event `to`, before which nothing watched changes. */
static int pass_unwatched(struct cursor *t, struct hot *h, uint64_t to, struct stop *stop, struct err *e)
{
	struct group_slot watch[BREAKS_WATCHES];
	int r;

	memcpy(watch, t->breaks.watch, sizeof(watch));
	memset(t->breaks.watch, 0, sizeof(watch));
	t->patience = 0;
	r = t->ops->run(t, 0, to, stop, e);
	memcpy(t->breaks.watch, watch, sizeof(watch));
	h->patience = h->patience / 2 > WRITES_LEAST ? h->patience / 2 : WRITES_LEAST;
	return r;
}

/*
 * Goes into the segment, from the same state, to its next stop. STOP_LIMIT: there was none, and all threads are held.
 */
static int pass_inside(struct cursor *t, struct stop *stop, struct err *e)
{
	pid_t none = 0;

	if (cursor_go_inside(t, e) || t->ops->run_segment(&t->in, &t->breaks, stop, e))
		return -1;
	t->tid = t->in.seg.tid;
	if (stop->kind != STOP_OVER)
		return 0;
	stop->kind = STOP_LIMIT;
	return cursor_cross(t, &none, e);
}

static int pass_hot(struct cursor *t, struct hot *h, uint64_t until, struct stop *stop, struct err *e)
{
	uint64_t here = cursor_event(t);
	struct segcur_far far = {.to = until};
	int may = h->event == here ? 1 : t->ops->may_stop(t, &far, e);

	if (may < 0)
		return -1;
	if (!may)
		return pass_unwatched(t, h, far.at, stop, e);
	if (h->event == here)
		return pass_inside(t, stop, e);
	h->event = here;
	h->unknown = may == CURSOR_MAY_UNKNOWN;
	stop->kind = STOP_LIMIT;
	return 0;
}

/* How many writes are accepted in this segment. */
static uint64_t patience_of(const struct cursor *t, const struct hot *h)
{
	return h->event != cursor_event(t) ? h->patience : h->unknown ? 0 : WRITES_ENTER;
}

/* As ops->run, without a stepped thread. */
static int run_patiently(struct cursor *t, uint64_t until, struct stop *stop, struct err *e)
{
	struct hot h = {.patience = WRITES_FIRST, .event = UINT64_MAX};
	int r;

	do {
		bool known = h.event == cursor_event(t);

		t->patience = patience_of(t, &h);
		r = t->ops->run(t, 0, known ? cursor_event(t) + 1 : until, stop, e);
		if (!r && stop->kind == STOP_HOT)
			r = pass_hot(t, &h, until, stop, e);
	} while (!r && stop->kind == STOP_LIMIT && t->mode == CURSOR_GROUP && cursor_event(t) < until);
	t->patience = 0;
	return r;
}

/*
 * From CURSOR_GROUP. If a thread was interrupted in translated code, goes to the beginning of that segment, which is a
 * state of the program.
 */
static int run_held(struct cursor *t, pid_t step, uint64_t until, struct stop *stop, struct err *e)
{
	if (step ? t->ops->run(t, step, until, stop, e) : run_patiently(t, until, stop, e))
		return -1;
	return t->in_translation ? cursor_goto(t, nav_at(t->nav), e) : 0;
}

/*
 * From CURSOR_GROUP to the next stop, or to event `until` (STOP_LIMIT), with no fork to be followed on the way. A long
 * way leaves checkpoints, so that going back afterwards is short.
 */
static int run_from_here(struct cursor *t, pid_t step, uint64_t until, struct stop *stop, struct err *e)
{
	uint64_t cuts[CURSOR_CUTS], total = cursor_total(t), at = 0;
	unsigned n = cursor_cuts(t, 1, total, cuts);

	for (unsigned i = 0; i < n && cuts[i] < until; i++) {
		if (cuts[i] <= nav_at(t->nav) || (t->ops->checkpoint_before(t->nav, cuts[i], &at) && at == cuts[i]))
			continue;
		if (run_held(t, step, cuts[i], stop, e))
			return -1;
		if (stop->kind != STOP_LIMIT)
			return 0;
		if (t->ops->checkpoint(t, e))
			return -1;
	}
	if (run_held(t, step, until, stop, e))
		return -1;
	return t->history_end.on && until == total && stop->kind == STOP_LIMIT ? cursor_enter_last(t, step, stop, e)
									       : 0;
}

/* As the function above, over forks. */
static int run_on(struct cursor *t, pid_t step, uint64_t until, struct stop *stop, struct err *e)
{
	uint64_t fork;
	int r;

	for (;;) {
		if (cursor_next_fork(t, nav_at(t->nav), &fork, e))
			return -1;
		if (!fork || fork > until)
			return run_from_here(t, step, until, stop, e);
		if (run_held(t, step, fork - 1, stop, e))
			return -1;
		if (stop->kind != STOP_LIMIT)
			return 0;
		if (t->ops->stand(t, e) < 0)
			return -1;
		r = cursor_run_fork(t, fork, &step, stop, e);
		if (r <= 0)
			return r;
	}
}

/*
 * The segment ends where its thread was interrupted: the process itself finds that place, and runs again, past the
 * stops up to here.
 */
static int go_again(struct cursor *t, pid_t step, uint64_t until, struct stop *stop, struct err *e)
{
	uint64_t k, pc, n = t->in.n;

	if (t->ops->count_stops(&t->in, &t->breaks, &k, e) || cursor_pc(t, &pc, e))
		return -1;
	k += breaks_has(&t->breaks, pc) && t->ops->meets(&t->breaks, &t->in.now);
	if (t->ops->hold(t, n, e))
		return -1;
	do
		if (run_on(t, step, until, stop, e))
			return -1;
	while (k-- && nav_at(t->nav) == n && stop->kind != STOP_INTERRUPT && stop->kind != STOP_END);
	return 0;
}

/* As run_on, from any mode; inside a segment, `step` is not the thread that moves there. */
static int run(struct cursor *t, pid_t step, uint64_t until, struct stop *stop, struct err *e)
{
	if (t->mode == CURSOR_GROUP)
		return run_on(t, step, until, stop, e);
	if (segcur_ends_in_program(&t->in))
		return go_again(t, step, until, stop, e);
	if (t->ops->run_segment(&t->in, &t->breaks, stop, e))
		return -1;
	t->tid = t->in.seg.tid;
	if (stop->kind != STOP_OVER)
		return 0;
	/* the process itself does the event and goes on */
	return cursor_cross(t, &step, e) || run_on(t, step, until, stop, e) ? -1 : 0;
}

static int go_on(struct cursor *t, struct stop *stop, struct err *e)
{
	if (t->mode == CURSOR_INSIDE && cursor_is_last(t))
		return cursor_run_to_history_end(t, false, &t->breaks, stop, e);
	return run(t, 0, t->most && t->most < cursor_total(t) ? t->most : cursor_total(t), stop, e);
}

static int step_last(struct cursor *t, pid_t tid, struct stop *stop, struct err *e)
{
	bool there;

	if (tid != t->in.seg.tid)
		return cursor_run_to_history_end(t, false, &t->breaks, stop, e);
	if (cursor_at_history_end(t, &there, e))
		return -1;
	*stop = (struct stop){.kind = STOP_END};
	return there ? 0 : t->ops->step(&t->in, &t->breaks, stop, e);
}

/*
 * Goes to the first visible state after event n, at which the process stands. STOP_LIMIT: there is none; it stands at
 * the next one.
 */
static int enter(struct cursor *t, uint64_t n, struct stop *stop, struct err *e)
{
	int r = t->ops->enter(t, n, e);

	*stop = (struct stop){.kind = r ? STOP_LIMIT : STOP_STEP};
	return r > 0 ? t->ops->hold(t, n + 1, e) : r;
}

static int step_inside(struct cursor *t, struct stop *stop, struct err *e);

/*
 * Steps a thread that is in its next segment (t->next), or, fresh, before it. STOP_LIMIT: the rest of it has no visible
 * state.
 */
static int step_segment(struct cursor *t, pid_t tid, bool fresh, struct stop *stop, struct err *e)
{
	if (!t->next.soft)
		return run_on(t, tid, t->next.end, stop, e);
	if (!fresh)
		return cursor_go_inside(t, e) || step_inside(t, stop, e) ? -1 : 0;
	return enter(t, t->next.n, stop, e);
}

/* fresh: the process is at an event, with all threads held, and the step is not over yet. */
static int step_from(struct cursor *t, pid_t tid, bool fresh, struct stop *stop, struct err *e)
{
	uint64_t total = cursor_total(t), fork;
	uint32_t who = cursor_ordinal(t, tid);

	if (cursor_next_fork(t, cursor_event(t), &fork, e))
		return -1;
	if (fork) /* the child's threads are other ones */
		return run(t, tid, total, stop, e);
	for (;; fresh = true) {
		uint64_t n = cursor_event(t);

		if (next_segment_find(&t->next, t->nav->t.tl, total, who, n, e))
			return -1;
		if (t->next.n == total)
			return run(t, tid, total, stop, e);
		if (n < t->next.n) {
			if (run(t, 0, t->next.n, stop, e))
				return -1;
			if (stop->kind != STOP_LIMIT)
				return 0;
			fresh = true;
		}
		if (step_segment(t, tid, fresh, stop, e))
			return -1;
		if (stop->kind != STOP_LIMIT || cursor_event(t) == total)
			return 0;
	}
}

/* Steps the thread that moves in this segment. */
static int step_inside(struct cursor *t, struct stop *stop, struct err *e)
{
	pid_t tid = t->in.seg.tid;
	struct stop met;

	if (t->ops->step(&t->in, &t->breaks, stop, e))
		return -1;
	t->tid = tid;
	if (stop->kind != STOP_OVER)
		return 0;
	met = *stop;
	if (cursor_cross(t, &tid, e) || step_from(t, tid, true, stop, e))
		return -1;
	if (stop->kind == STOP_STEP && met.watch)
		*stop = (struct stop){STOP_WATCH, 0, met.addr, met.watch};
	return 0;
}

static int step(struct cursor *t, pid_t tid, struct stop *stop, struct err *e)
{
	if (t->mode == CURSOR_INSIDE && cursor_is_last(t))
		return step_last(t, tid, stop, e);
	return t->mode == CURSOR_INSIDE && tid == t->in.seg.tid ? step_inside(t, stop, e)
								: step_from(t, tid, false, stop, e);
}

/* At the end all threads are in the recorder: shows the state from which the last one came there. */
static int show_end(struct cursor *t, const struct stop *stop, struct err *e)
{
	return stop->kind == STOP_END && !t->history_end.on && cursor_last(t, e) < 0 ? -1 : 0;
}

int cursor_is_hidden(struct cursor *t, struct err *e)
{
	struct user_regs_struct r;

	if (t->ops->regs(t, t->tid, &r, e))
		return -1;
	return shim_frames_is_within(&t->shim_frames, &t->visibility, cursor_memory(t), &r);
}

/* A watched word was written by the recorder, as for a read(): that is seen where the call returns. */
static int come_out(struct cursor *t, struct stop *stop, struct err *e)
{
	while (stop->kind == STOP_WATCH) {
		struct stop next = {0};
		int hidden = cursor_is_hidden(t, e);

		if (hidden <= 0)
			return hidden;
		if (step(t, t->tid, &next, e))
			return -1;
		if (next.kind != STOP_STEP)
			*stop = next;
	}
	return 0;
}

int cursor_continue_few(struct cursor *t, struct stop *stop, struct err *e)
{
	int r;

	t->breaks.libraries = true;
	cursor_know_what_is_walked(t);
	r = go_on(t, stop, e) || come_out(t, stop, e) ? -1 : 0;
	t->breaks.libraries = false;
	cursor_see_signal(t, stop);
	return r ? -1 : show_end(t, stop, e);
}

/* Called where a step, or a run in place of many steps, has ended. */
static int end_step(struct cursor *t, pid_t tid, struct stop *stop, struct err *e)
{
	int r = come_out(t, stop, e);

	t->breaks.libraries = false;
	cursor_see_signal(t, stop);
	/*
	 * GDB 13 forgets that one thread is being stepped when another one reports libraries (TARGET_WAITKIND_LOADED)
	 */
	if (stop->kind == STOP_LIBRARY && t->tid != tid)
		stop->kind = STOP_BREAK;
	return r ? -1 : show_end(t, stop, e);
}

int cursor_step_few(struct cursor *t, pid_t tid, struct stop *stop, struct err *e)
{
	t->breaks.libraries = true;
	if (!step(t, tid, stop, e))
		return end_step(t, tid, stop, e);
	t->breaks.libraries = false;
	return -1;
}

/*
 * From CURSOR_GROUP: is the thread the only one that moves before the next event, and is that event a plain one? 1, 0
 * or -1.
 */
static int moves_alone(struct cursor *t, pid_t tid, struct err *e)
{
	uint64_t n = cursor_event(t), total = cursor_total(t), fork;

	if (t->tid != tid || n + 1 >= total || t->in_translation)
		return 0;
	if (cursor_next_fork(t, n, &fork, e) ||
	    next_segment_find(&t->next, t->nav->t.tl, total, cursor_ordinal(t, tid), n, e))
		return -1;
	return fork != n + 1 && t->next.n == n && !t->next.soft;
}

static int pc_of(struct cursor *t, pid_t tid, uint64_t *pc, struct err *e)
{
	struct user_regs_struct r;

	if (t->ops->regs(t, tid, &r, e))
		return -1;
	*pc = r.rip;
	return 0;
}

/* Not if more words are watched than there are debug registers, or if other things happen than what the thread does. */
static int can_run_within(struct cursor *t, pid_t tid, struct err *e)
{
	if (t->breaks.nmore || t->mode == CURSOR_NOWHERE)
		return 0;
	if (t->mode == CURSOR_GROUP)
		return moves_alone(t, tid, e);
	return tid == t->in.seg.tid && !segcur_ends_in_program(&t->in) && !cursor_is_last(t);
}

/* The debugger's breakpoints, and those addresses. false: one of them has a condition. */
static bool stop_there_too(const struct breaks *mine, const uint64_t *at, unsigned n, struct breaks *all)
{
	*all = (struct breaks){.view = mine->view, .libraries = mine->libraries, .many = mine->many};
	breaks_add_all(all, mine);
	for (unsigned i = 0; i < n; i++) {
		if (breaks_has_condition(mine, at[i]))
			return false;
		breaks_add(all, at[i], 0);
	}
	return true;
}

/* Runs with t->breaks. STOP_LIMIT: the process is at the next event, with all threads held. */
static int run_segment(struct cursor *t, pid_t *tid, struct stop *stop, struct err *e)
{
	if (t->mode == CURSOR_GROUP) {
		int r = run_held(t, 0, cursor_event(t) + 1, stop, e);

		*tid = cursor_now(t, *tid);
		return r;
	}
	if (t->ops->run_segment(&t->in, &t->breaks, stop, e))
		return -1;
	t->tid = t->in.seg.tid;
	if (stop->kind != STOP_OVER)
		return 0;
	stop->kind = STOP_LIMIT;
	return cursor_cross(t, tid, e);
}

int cursor_run_within_few(struct cursor *t, pid_t tid, const uint64_t *at, unsigned n, struct stop *stop, struct err *e)
{
	struct breaks mine, all;
	uint64_t pc = 0;
	int r;

	tid = cursor_now(t, tid);
	r = can_run_within(t, tid, e);
	if (r <= 0)
		return r ? -1 : 1;
	t->breaks.libraries = true;
	mine = t->breaks;
	if (!stop_there_too(&mine, at, n, &all)) {
		breaks_fini(&all);
		t->breaks.libraries = false;
		return 1;
	}
	t->breaks = all;
	r = run_segment(t, &tid, stop, e);
	all = t->breaks;
	t->breaks = mine;
	breaks_fini(&all);
	if (!r && stop->kind == STOP_LIMIT)
		r = step_from(t, tid, true, stop, e);
	else if (!r && stop->kind == STOP_BREAK && !(r = pc_of(t, tid, &pc, e)) && !breaks_has(&mine, pc))
		stop->kind = STOP_STEP;
	if (!r)
		return end_step(t, tid, stop, e);
	t->breaks.libraries = false;
	return -1;
}
