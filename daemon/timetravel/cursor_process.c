/* SPDX-License-Identifier: MIT */
/*
 * cursor_process.c: the operations of cursor_ops.h on a real process: the target is brought to an event
 * (replay/navigate.h), all its threads are held there, or copies of the thread that moves next go into its segment
 * (segcursor/segcursor.h).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/str.h"
#include "segcursor/segcursor_int.h"
#include "timetravel/cursor_int.h"

#define NEAR_EVENTS 100

static int let_others_go(struct cursor *t, struct err *e)
{
	int r = 0;

	for (unsigned i = 0; i < t->others; i++)
		if (t->other[i].t.alive && trace_detach(&t->other[i].t, false, e))
			r = -1;
	free(t->other);
	t->other = NULL;
	t->others = 0;
	return r;
}

/* A process that was stopped somewhere in a segment cannot be used any more: how far it is is not known. */
static int leave_group(struct cursor *t, struct err *e)
{
	if (!t->group.pid)
		return segment_end_tracing(e);
	group_kill(&t->group);
	if (segment_end_tracing(e))
		return -1;
	target_kill(&t->nav->t);
	return 0;
}

int cursor_leave(struct cursor *t, struct err *e)
{
	enum cursor_mode mode = t->mode;

	t->mode = CURSOR_NOWHERE;
	if (mode == CURSOR_GROUP)
		return leave_group(t, e);
	if (mode == CURSOR_NOWHERE)
		return 0;
	return let_others_go(t, e) | segcur_leave(&t->in, e) ? -1 : 0;
}

/*
 * A process that is released in a segment runs on to the event after it, so it cannot be used for a position before
 * that.
 */
static int leave_for(struct cursor *t, uint64_t n, struct err *e)
{
	bool back = t->mode == CURSOR_INSIDE && n <= t->in.n;

	if (cursor_leave(t, e))
		return -1;
	if (back)
		target_kill(&t->nav->t);
	return nav_goto(t->nav, n, e);
}

static int entered(struct cursor *t)
{
	t->mode = CURSOR_INSIDE;
	t->in.interrupted = t->interrupted;
	t->in.ctx = t->ctx;
	t->visibility = t->in.visibility;
	t->tid = t->in.seg.tid;
	return 0;
}

int cursor_keep(struct cursor *t, uint64_t *id, struct err *e)
{
	struct err why;
	int r;

	if (let_others_go(t, e) || segcur_release(&t->in, e))
		return -1;
	r = id ? nav_keep(t->nav, id, &why) : nav_checkpoint(t->nav, &why);
	if (segcur_take(&t->in, e))
		return -1;
	if (r < 0)
		*e = why;
	return r;
}

/* Is the cursor in that segment, and does the segment have visible states? Then it need not be entered again. */
static bool is_inside(const struct cursor *t, uint64_t n)
{
	return t->mode == CURSOR_INSIDE && t->in.n == n && t->in.marks;
}

int cursor_enter(struct cursor *t, uint64_t n, struct err *e)
{
	int r;

	if (is_inside(t, n))
		return segcur_rewind(&t->in, e) ? -1 : entered(t);
	if (leave_for(t, n, e))
		return -1;
	r = segcur_enter(&t->in, &t->nav->t, n, &t->shim_frames, e);
	return r ? r : entered(t);
}

int cursor_enter_any(struct cursor *t, uint64_t n, struct err *e)
{
	if (is_inside(t, n))
		return segcur_rewind(&t->in, e) ? -1 : entered(t);
	return leave_for(t, n, e) || segcur_enter_any(&t->in, &t->nav->t, n, &t->shim_frames, e) ? -1 : entered(t);
}

int cursor_hold(struct cursor *t, uint64_t n, struct err *e)
{
	struct target *target = &t->nav->t;

	if (leave_for(t, n, e) || trace_prepare(true, e))
		return -1;
	t->mode = CURSOR_GROUP;
	if (target->cpu >= 0 && trace_pin(0, target->cpu, e))
		return -1;
	t->tid = target_tid(target, target->ctl->parked);
	return visibility_find(target->pid, &t->visibility, e) || group_seize(&t->group, target->pid, e) ? -1 : 0;
}

int cursor_stand(struct cursor *t, struct err *e)
{
	int r = group_release(&t->group, e);

	if (r)
		return r < 0 || cursor_leave(t, e) ? -1 : 1;
	t->mode = CURSOR_NOWHERE;
	return segment_end_tracing(e);
}

int cursor_checkpoint(struct cursor *t, struct err *e)
{
	uint64_t here = nav_at(t->nav);
	struct err ignored;
	int r = cursor_stand(t, e);

	if (r < 0)
		return -1;
	if (!r)
		nav_checkpoint(t->nav, &ignored);
	return cursor_hold(t, here, e);
}

/*
 * A debugger that goes back mostly goes back further: a checkpoint some events before makes the next steps cheap.
 * Without one everything still works.
 */
static int come_near(struct cursor *t, uint64_t n, struct err *e)
{
	uint64_t at = 0, from = n > nav_first(t->nav) + NEAR_EVENTS ? n - NEAR_EVENTS / 2 : 0;
	struct err ignored;

	if (!from || (nav_ckpt_before(t->nav, n, &at) && n - at <= NEAR_EVENTS))
		return 0;
	if (cursor_leave(t, e) || nav_goto(t->nav, from, e))
		return -1;
	nav_checkpoint(t->nav, &ignored);
	return 0;
}

int cursor_copy(struct cursor *t, struct trace *copy, struct err *e)
{
	struct group_thread *th;

	if (t->mode == CURSOR_INSIDE)
		return segcur_copy(&t->in, &t->in.now, copy, e) || trace_unshare_memory(copy, t->in.seg.gadget, e) ? -1
														   : 0;
	th = group_find(&t->group, t->tid);
	return th ? cursor_keep_state(t, th, copy, e)
		  : err_set(e, ERR_USAGE, "thread %d no longer exists", (int)t->tid);
}

/* *count: as segcur_find_counting, if counting is cheap. */
static int find_inside(struct cursor *t, struct trace *here, struct breaks *b, struct segcur_count *count,
		       struct err *e)
{
	int r = segcur_find_counting(&t->in, here, b, count, e);

	if (!r || (r < 0 && e->kind == ERR_CANCELLED))
		return r;
	return segcur_find(&t->in, here, e); /* a state that is not exactly equal may do */
}

/* Counts the stops of b before the state, as find_inside does. */
static int go_inside(struct cursor *t, struct breaks *b, struct segcur_count *count, struct err *e)
{
	struct group_thread *th;
	struct trace here;
	uint64_t n = nav_at(t->nav);
	int r, sig;

	if (t->mode == CURSOR_INSIDE)
		return 0;
	th = group_find(&t->group, t->tid);
	if (!th)
		return err_set(e, ERR_USAGE, "thread %d no longer exists", (int)t->tid);
	sig = th->sig;
	if (cursor_keep_state(t, th, &here, e))
		return -1;
	r = cursor_enter_any(t, n, e);
	if (!r)
		r = find_inside(t, &here, b, count, e);
	if (!r) /* a fault that was reported: it is raised again, and delivered then */
		t->in.sig = -sig;
	segcur_drop(&here);
	if (r > 0)
		return err_set(e, ERR_INTERNAL, "the state of thread %d after event %llu could not be reached again",
			       (int)t->tid, (unsigned long long)n);
	return r;
}

/* Holds a thread that does not move in this segment: it is in the recorder. */
static struct trace *hold_other(struct cursor *t, pid_t tid, struct err *e)
{
	struct group_thread *th;

	for (unsigned i = 0; i < t->others; i++)
		if (t->other[i].t.tid == tid)
			return &t->other[i].t;
	t->other = xreallocarray(t->other, t->others + 1, sizeof(t->other[0]));
	th = &t->other[t->others];
	memset(th, 0, sizeof(*th));
	if (trace_seize(&th->t, t->nav->t.pid, tid, e))
		return NULL;
	t->others++;
	return &th->t;
}

struct trace *cursor_thread(struct cursor *t, pid_t tid, struct err *e)
{
	struct group_thread *th;

	tid = cursor_now(t, tid);
	if (t->mode == CURSOR_INSIDE)
		return tid == t->in.seg.tid ? &t->in.now : hold_other(t, tid, e);
	th = t->mode == CURSOR_GROUP ? group_find(&t->group, tid) : NULL;
	if (!th)
		err_set(e, ERR_USAGE, "there is no thread %d", (int)tid);
	return th ? &th->t : NULL;
}

static int regs(struct cursor *t, pid_t tid, struct user_regs_struct *r, struct err *e)
{
	struct trace *th = cursor_thread(t, tid, e);

	return th ? trace_get_regs(th, r, e) : -1;
}

const struct cursor_ops cursor_process_ops = {
	.leave = cursor_leave,
	.enter = cursor_enter,
	.enter_any = cursor_enter_any,
	.come_near = come_near,
	.hold = cursor_hold,
	.run = cursor_run,
	.stand = cursor_stand,
	.checkpoint = cursor_checkpoint,
	.keep = cursor_keep,
	.checkpoint_before = nav_ckpt_before,
	.go_inside = go_inside,
	.regs = regs,
	.step = segcur_step,
	.look_on = segcur_look_on,
	.back = segcur_back,
	.to_end = segcur_to_end,
	.run_segment = segcur_run,
	.nth_stop = segcur_nth_stop,
	.last_stop = segcur_last_stop,
	.back_to_stop = segcur_back_to_stop,
	.to_counted = segcur_to_counted,
	.may_stop = cursor_may_stop,
	.count_stops = segcur_count_stops,
	.back_over = segcur_back_over,
	.walk_until = segcur_walk_until,
	.most_similar = segcur_most_similar,
	.meets = segcur_meets,
};
