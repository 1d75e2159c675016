/* SPDX-License-Identifier: MIT */
/* cursor.c: see cursor.h: where it stands, what can be looked at, and forwards. */
#include "timetravel/cursor.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "segcursor/segcursor_int.h"
#include "timetravel/cursor_int.h"

#define LAY_S 0.5 /* so much recorded time without a checkpoint is given some */

void cursor_init(struct cursor *t, struct nav *nav)
{
	memset(t, 0, sizeof(*t));
	t->nav = nav;
	t->view = (struct process_view){&t->visibility, &t->shim_frames};
	t->breaks.view = &t->view;
	t->breaks.many = true;
}

void cursor_fini(struct cursor *t)
{
	struct err ignored;

	cursor_leave(t, &ignored);
	shim_frames_fini(&t->shim_frames);
	breaks_fini(&t->breaks);
}

uint64_t cursor_event(const struct cursor *t)
{
	return t->mode == CURSOR_INSIDE ? t->in.n : nav_at(t->nav);
}

uint64_t cursor_total(const struct cursor *t)
{
	return t->history_end.on ? t->history_end.n : nav_total(t->nav);
}

bool cursor_is_last(const struct cursor *t)
{
	return t->history_end.on && cursor_event(t) == t->history_end.n;
}

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

/* A process that was stopped somewhere in a segment is of no more use: nobody knows how far it is. */
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

/* A process that is let go in a segment is on its way to the event behind it: for what lies before it is of no use. */
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

/* Is it in that segment, and one with visible states? Then it need not be brought there again. */
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

static double seconds_at(struct cursor *t, uint64_t event)
{
	struct timeline_event ev;
	struct err ignored;

	return event && !timeline_read(t->nav->t.tl, event, &ev, &ignored) ? ev.seconds : 0;
}

unsigned cursor_cuts(struct cursor *t, uint64_t from, uint64_t to, uint64_t cuts[CURSOR_CUTS])
{
	return seconds_at(t, to) - seconds_at(t, from) < LAY_S ? 0 : nav_cuts(t->nav, from, to, CURSOR_CUTS / 2, cuts);
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

int cursor_goto(struct cursor *t, uint64_t n, struct err *e)
{
	for (; n < nav_total(t->nav); n++) {
		int r = cursor_enter(t, n, e);

		if (r <= 0)
			return r;
	}
	return cursor_last(t, e) < 0 ? -1 : 0;
}

int cursor_goto_pc(struct cursor *t, uint64_t n, uint64_t pc, uint64_t hits, struct err *e)
{
	struct breaks b = {0};
	struct stop stop;
	int r = cursor_enter(t, n, e);

	if (r < 0)
		return -1;
	breaks_add(&b, pc, 0);
	if (!r)
		r = segcur_nth_stop(&t->in, &b, hits, &stop, e);
	breaks_fini(&b);
	if (r > 0)
		return err_set(e, ERR_USAGE, "0x%llx is not met %llu times between event %llu and the next",
			       (unsigned long long)pc, (unsigned long long)hits, (unsigned long long)n);
	return r;
}

static bool same_place(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	return a->rip == b->rip && a->rsp == b->rsp && a->rbp == b->rbp;
}

int cursor_goto_seen(struct cursor *t, uint64_t n, uint64_t pc, uint64_t hits, struct err *e)
{
	struct user_regs_struct there, again;
	struct stop stop;
	int r;

	if (cursor_goto_pc(t, n, pc, hits, e))
		return -1;
	if (visibility_is_certain(&t->visibility, pc))
		return 0;
	/* a step from the visible state before leads to this one, if it is visible too */
	if (trace_get_regs(&t->in.now, &there, e))
		return -1;
	r = segcur_back(&t->in, e);
	if (r || segcur_step(&t->in, NULL, &stop, e))
		return r > 0 ? 0 : -1;
	if (stop.kind != STOP_OVER && trace_get_regs(&t->in.now, &again, e))
		return -1;
	if (stop.kind != STOP_OVER && same_place(&there, &again))
		return 0;
	return stop.kind == STOP_OVER || segcur_back(&t->in, e) >= 0 ? 0 : -1;
}

int cursor_goto_end(struct cursor *t, uint64_t n, struct err *e)
{
	int r = cursor_enter(t, n, e);
	struct stop stop;

	if (!r && cursor_is_last(t))
		return cursor_run_to_edge(t, true, NULL, &stop, e);
	return r ? r : segcur_to_end(&t->in, e);
}

/* A thread that does not move in this segment: it stands in the shim. */
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

	if (t->mode == CURSOR_INSIDE)
		return tid == t->in.seg.tid ? &t->in.now : hold_other(t, tid, e);
	th = t->mode == CURSOR_GROUP ? group_find(&t->group, tid) : NULL;
	if (!th)
		err_set(e, ERR_USAGE, "there is no thread %d", (int)tid);
	return th ? &th->t : NULL;
}

pid_t cursor_memory(const struct cursor *t)
{
	return t->mode == CURSOR_INSIDE ? t->in.now.pid : t->nav->t.pid;
}
