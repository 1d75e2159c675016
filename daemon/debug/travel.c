/* SPDX-License-Identifier: MIT */
/* travel.c: see travel.h: where it stands, what can be looked at, and forwards. */
#include "debug/travel.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "debug/inside_int.h"
#include "debug/travel_int.h"

#define LAY_S 0.5 /* so much recorded time without a checkpoint is given some */

void travel_init(struct travel *t, struct nav *nav)
{
	memset(t, 0, sizeof(*t));
	t->nav = nav;
	t->scene = (struct scene){&t->sight, &t->outside};
	t->breaks.scene = &t->scene;
	t->breaks.many = true;
}

void travel_fini(struct travel *t)
{
	struct err ignored;

	travel_leave(t, &ignored);
	outside_fini(&t->outside);
	breaks_fini(&t->breaks);
}

uint64_t travel_event(const struct travel *t)
{
	return t->mode == TRAVEL_INSIDE ? t->in.n : nav_at(t->nav);
}

uint64_t travel_total(const struct travel *t)
{
	return t->edge.on ? t->edge.n : nav_total(t->nav);
}

bool travel_is_last(const struct travel *t)
{
	return t->edge.on && travel_event(t) == t->edge.n;
}

static int let_others_go(struct travel *t, struct err *e)
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
static int leave_group(struct travel *t, struct err *e)
{
	if (!t->group.pid)
		return segment_end_tracing(e);
	group_kill(&t->group);
	if (segment_end_tracing(e))
		return -1;
	target_kill(&t->nav->t);
	return 0;
}

int travel_leave(struct travel *t, struct err *e)
{
	enum travel_mode mode = t->mode;

	t->mode = TRAVEL_NOWHERE;
	if (mode == TRAVEL_GROUP)
		return leave_group(t, e);
	if (mode == TRAVEL_NOWHERE)
		return 0;
	return let_others_go(t, e) | inside_leave(&t->in, e) ? -1 : 0;
}

/* A process that is let go in a segment is on its way to the event behind it: for what lies before it is of no use. */
static int leave_for(struct travel *t, uint64_t n, struct err *e)
{
	bool back = t->mode == TRAVEL_INSIDE && n <= t->in.n;

	if (travel_leave(t, e))
		return -1;
	if (back)
		target_kill(&t->nav->t);
	return nav_goto(t->nav, n, e);
}

static int entered(struct travel *t)
{
	t->mode = TRAVEL_INSIDE;
	t->in.interrupted = t->interrupted;
	t->in.ctx = t->ctx;
	t->sight = t->in.sight;
	t->tid = t->in.seg.tid;
	return 0;
}

int travel_keep(struct travel *t, uint64_t *id, struct err *e)
{
	struct err why;
	int r;

	if (let_others_go(t, e) || inside_release(&t->in, e))
		return -1;
	r = id ? nav_keep(t->nav, id, &why) : nav_checkpoint(t->nav, &why);
	if (inside_take(&t->in, e))
		return -1;
	if (r < 0)
		*e = why;
	return r;
}

/* Is it in that segment, and one with visible states? Then it need not be brought there again. */
static bool is_inside(const struct travel *t, uint64_t n)
{
	return t->mode == TRAVEL_INSIDE && t->in.n == n && t->in.marks;
}

int travel_enter(struct travel *t, uint64_t n, struct err *e)
{
	int r;

	if (is_inside(t, n))
		return inside_rewind(&t->in, e) ? -1 : entered(t);
	if (leave_for(t, n, e))
		return -1;
	r = inside_enter(&t->in, &t->nav->t, n, &t->outside, e);
	return r ? r : entered(t);
}

int travel_enter_any(struct travel *t, uint64_t n, struct err *e)
{
	if (is_inside(t, n))
		return inside_rewind(&t->in, e) ? -1 : entered(t);
	return leave_for(t, n, e) || inside_enter_any(&t->in, &t->nav->t, n, &t->outside, e) ? -1 : entered(t);
}

int travel_hold(struct travel *t, uint64_t n, struct err *e)
{
	struct target *target = &t->nav->t;

	if (leave_for(t, n, e) || trace_prepare(true, e))
		return -1;
	t->mode = TRAVEL_GROUP;
	if (target->cpu >= 0 && trace_pin(0, target->cpu, e))
		return -1;
	t->tid = target_tid(target, target->ctl->parked);
	return sight_find(target->pid, &t->sight, e) || group_seize(&t->group, target->pid, e) ? -1 : 0;
}

static double seconds_at(struct travel *t, uint64_t event)
{
	struct timeline_event ev;
	struct err ignored;

	return event && !timeline_read(t->nav->t.tl, event, &ev, &ignored) ? ev.seconds : 0;
}

unsigned travel_cuts(struct travel *t, uint64_t from, uint64_t to, uint64_t cuts[TRAVEL_CUTS])
{
	return seconds_at(t, to) - seconds_at(t, from) < LAY_S ? 0 : nav_cuts(t->nav, from, to, TRAVEL_CUTS / 2, cuts);
}

int travel_stand(struct travel *t, struct err *e)
{
	int r = group_release(&t->group, e);

	if (r)
		return r < 0 || travel_leave(t, e) ? -1 : 1;
	t->mode = TRAVEL_NOWHERE;
	return segment_end_tracing(e);
}

int travel_checkpoint(struct travel *t, struct err *e)
{
	uint64_t here = nav_at(t->nav);
	struct err ignored;
	int r = travel_stand(t, e);

	if (r < 0)
		return -1;
	if (!r)
		nav_checkpoint(t->nav, &ignored);
	return travel_hold(t, here, e);
}

int travel_goto(struct travel *t, uint64_t n, struct err *e)
{
	for (; n < nav_total(t->nav); n++) {
		int r = travel_enter(t, n, e);

		if (r <= 0)
			return r;
	}
	return travel_last(t, e) < 0 ? -1 : 0;
}

int travel_goto_pc(struct travel *t, uint64_t n, uint64_t pc, uint64_t hits, struct err *e)
{
	struct breaks b = {0};
	struct stop stop;
	int r = travel_enter(t, n, e);

	if (r < 0)
		return -1;
	breaks_add(&b, pc, 0);
	if (!r)
		r = inside_nth_stop(&t->in, &b, hits, &stop, e);
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

int travel_goto_seen(struct travel *t, uint64_t n, uint64_t pc, uint64_t hits, struct err *e)
{
	struct user_regs_struct there, again;
	struct stop stop;
	int r;

	if (travel_goto_pc(t, n, pc, hits, e))
		return -1;
	if (sight_is_certain(&t->sight, pc))
		return 0;
	/* a step from the visible state before leads to this one, if it is visible too */
	if (trace_get_regs(&t->in.now, &there, e))
		return -1;
	r = inside_back(&t->in, e);
	if (r || inside_step(&t->in, NULL, &stop, e))
		return r > 0 ? 0 : -1;
	if (stop.kind != STOP_OVER && trace_get_regs(&t->in.now, &again, e))
		return -1;
	if (stop.kind != STOP_OVER && same_place(&there, &again))
		return 0;
	return stop.kind == STOP_OVER || inside_back(&t->in, e) >= 0 ? 0 : -1;
}

int travel_goto_end(struct travel *t, uint64_t n, struct err *e)
{
	int r = travel_enter(t, n, e);
	struct stop stop;

	if (!r && travel_is_last(t))
		return travel_run_to_edge(t, true, NULL, &stop, e);
	return r ? r : inside_to_end(&t->in, e);
}

/* A thread that does not move in this segment: it stands in the shim. */
static struct trace *hold_other(struct travel *t, pid_t tid, struct err *e)
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

struct trace *travel_thread(struct travel *t, pid_t tid, struct err *e)
{
	struct group_thread *th;

	if (t->mode == TRAVEL_INSIDE)
		return tid == t->in.seg.tid ? &t->in.now : hold_other(t, tid, e);
	th = t->mode == TRAVEL_GROUP ? group_find(&t->group, tid) : NULL;
	if (!th)
		err_set(e, ERR_USAGE, "there is no thread %d", (int)tid);
	return th ? &th->t : NULL;
}

pid_t travel_memory(const struct travel *t)
{
	return t->mode == TRAVEL_INSIDE ? t->in.now.pid : t->nav->t.pid;
}
