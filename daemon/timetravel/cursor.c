/* SPDX-License-Identifier: MIT */
/* cursor.c: see cursor.h: where it stands, what can be looked at, and forwards. */
#include "timetravel/cursor.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cell/plain.h"
#include "segcursor/segcursor_int.h"
#include "timetravel/cursor_int.h"

#define STOPS_FEW 1000 /* with more passes, arrivals are counted by a walk before the copy goes there */

#define LAY_S 0.5 /* a part of the timeline that took this long when recorded gets checkpoints */

void cursor_init(struct cursor *t, struct nav *nav)
{
	memset(t, 0, sizeof(*t));
	t->nav = nav;
	t->ops = &cursor_process_ops;
	t->view = (struct process_view){&t->visibility, &t->shim_frames};
	t->breaks.view = &t->view;
	t->breaks.many = true;
}

void cursor_fini(struct cursor *t)
{
	struct err ignored;

	t->ops->leave(t, &ignored);
	shim_frames_fini(&t->shim_frames);
	breaks_fini(&t->breaks);
}

uint64_t cursor_event(const struct cursor *t)
{
	return t->mode == CURSOR_INSIDE ? t->in.n : nav_at(t->nav);
}

uint64_t cursor_total(const struct cursor *t)
{
	return t->history_end.on ? t->history_end.at.event : nav_total(t->nav);
}

bool cursor_is_last(const struct cursor *t)
{
	return t->history_end.on && cursor_event(t) == t->history_end.at.event;
}

double cursor_seconds(struct cursor *t, uint64_t event)
{
	struct timeline_event ev;
	struct err ignored;

	return event && !timeline_read(t->nav->t.tl, event, &ev, &ignored) ? ev.seconds : 0;
}

#define MOVE_MS 10u
#define PARTS 256 /* a move goes over one of this many parts of the recorded time */

void cursor_count_move(struct cursor *t)
{
	if (!t->move_ms)
		t->move_ms = MOVE_MS + (uint64_t)(cursor_seconds(t, nav_total(t->nav)) * 1000 / PARTS);
	t->work += t->move_ms;
}

unsigned cursor_cuts(struct cursor *t, uint64_t from, uint64_t to, uint64_t cuts[CURSOR_CUTS])
{
	return cursor_seconds(t, to) - cursor_seconds(t, from) < LAY_S
		       ? 0
		       : nav_cuts(t->nav, from, to, CURSOR_CUTS / 2, cuts);
}

/* Goes to the last visible state of a segment before event n, of thread `who` (0: any). 1: there is none. */
int cursor_segment_before(struct cursor *t, uint64_t n, uint32_t who, struct err *e)
{
	for (; n > nav_first(t->nav); n--) {
		struct timeline_where w;
		int r;

		if (timeline_find(t->nav->t.tl, n, &w, e))
			return -1;
		if (who && w.thread != who)
			continue;
		r = t->ops->come_near(t, n - 1, e) ? -1 : t->ops->enter(t, n - 1, e);
		if (!r)
			r = t->ops->to_end(&t->in, e);
		if (r <= 0)
			return r;
	}
	return 1;
}

int cursor_last(struct cursor *t, struct err *e)
{
	return t->history_end.on ? cursor_goto_end(t, t->history_end.at.event, e)
				 : cursor_segment_before(t, nav_total(t->nav), 0, e);
}

int cursor_goto(struct cursor *t, uint64_t n, struct err *e)
{
	cursor_count_move(t);
	for (; n < nav_total(t->nav); n++) {
		int r = t->ops->enter(t, n, e);

		if (r <= 0)
			return r;
	}
	return cursor_last(t, e) < 0 ? -1 : 0;
}

int cursor_go_inside(struct cursor *t, struct err *e)
{
	struct segcur_count count = {0};
	struct breaks none = {0};
	int r = t->ops->go_inside(t, &none, &count, e);

	segcur_count_fini(&count);
	return r;
}

int cursor_where(struct cursor *t, struct timeline_point *p, struct err *e)
{
	if (cursor_go_inside(t, e))
		return -1;
	*p = (struct timeline_point){.event = t->in.n};
	if (cursor_pc(t, &p->pc, e) || cursor_passes(t, p->pc, &p->hits, e))
		return -1;
	p->hits++;
	return 0;
}

int cursor_goto_point(struct cursor *t, const struct timeline_point *p, struct err *e)
{
	struct breaks b = {0};
	struct stop stop;
	int r = t->ops->enter(t, p->event, e);

	cursor_count_move(t);
	if (r < 0)
		return -1;
	breaks_add(&b, p->pc, 0);
	if (!r)
		r = t->ops->nth_stop(&t->in, &b, p->hits, &stop, e);
	breaks_fini(&b);
	if (r > 0)
		return err_set(e, ERR_USAGE, "0x%llx is not met %llu times between event %llu and the next",
			       (unsigned long long)p->pc, (unsigned long long)p->hits, (unsigned long long)p->event);
	return r;
}

/* Counts how often the thread comes to the PC in its segment. 1: this takes too long. */
static int count_arrivals(struct cursor *t, uint64_t pc, uint64_t *times, struct err *e)
{
	struct breaks b = {0};
	int r;

	breaks_add(&b, pc, 0);
	r = segcur_count_all(&t->in, &b, STOPS_FEW, times, e);
	breaks_fini(&b);
	return r;
}

static int comes_less_often(const struct cursor *t, const struct timeline_point *p, uint64_t times, struct err *e)
{
	return err_set(e, ERR_USAGE, "thread %u is at 0x%llx only %llu times between event %llu and the next",
		       t->in.seg.thread, (unsigned long long)p->pc, (unsigned long long)times,
		       (unsigned long long)p->event);
}

int cursor_goto_given(struct cursor *t, const struct timeline_point *p, struct err *e)
{
	struct err ignored;
	uint64_t times;
	int r = t->ops->enter(t, p->event, e);

	if (r < 0)
		return -1;
	/*
	 * where the thread was interrupted in the middle of the program, copies run on; other copies would stop very
	 * often
	 */
	if (!r && (segcur_ends_in_program(&t->in) || p->hits > STOPS_FEW)) {
		int known = count_arrivals(t, p->pc, &times, e);

		if (known < 0)
			return -1;
		if (!known && times < p->hits)
			return comes_less_often(t, p, times, e);
	}
	if (!cursor_goto_point(t, p, e))
		return 0;
	if (!r && e->kind == ERR_USAGE && !t->ops->enter(t, p->event, &ignored) &&
	    !count_arrivals(t, p->pc, &times, &ignored))
		comes_less_often(t, p, times, e);
	return -1;
}

static bool same_place(const struct user_regs_struct *a, const struct user_regs_struct *b)
{
	return a->rip == b->rip && a->rsp == b->rsp && a->rbp == b->rbp;
}

int cursor_goto_seen(struct cursor *t, const struct timeline_point *p, struct err *e)
{
	struct user_regs_struct there, again;
	struct stop stop;
	int r;

	if (cursor_goto_point(t, p, e))
		return -1;
	if (visibility_is_certain(&t->visibility, p->pc))
		return 0;
	/* a step from the visible state before leads to this one, if it is visible too */
	if (t->ops->regs(t, t->in.seg.tid, &there, e))
		return -1;
	r = t->ops->back(&t->in, e);
	if (r || t->ops->step(&t->in, NULL, &stop, e))
		return r > 0 ? 0 : -1;
	if (stop.kind != STOP_OVER && t->ops->regs(t, t->in.seg.tid, &again, e))
		return -1;
	if (stop.kind != STOP_OVER && same_place(&there, &again))
		return 0;
	return stop.kind == STOP_OVER || t->ops->back(&t->in, e) >= 0 ? 0 : -1;
}

int cursor_goto_end(struct cursor *t, uint64_t n, struct err *e)
{
	int r = t->ops->enter(t, n, e);
	struct stop stop;

	cursor_count_move(t);
	if (!r && cursor_is_last(t))
		return cursor_run_to_history_end(t, true, NULL, &stop, e);
	return r ? r : t->ops->to_end(&t->in, e);
}

pid_t cursor_memory(const struct cursor *t)
{
	return t->mode == CURSOR_INSIDE ? t->in.now.pid : t->nav->t.pid;
}

uint32_t cursor_ordinal(const struct cursor *t, pid_t tid)
{
	tid = cursor_now(t, tid);
	for (uint32_t o = 1; o < RLOG_MAX_THREADS; o++)
		if (target_tid(&t->nav->t, o) == tid)
			return o;
	return 0;
}

pid_t cursor_tid_of(const struct cursor *t, uint32_t ordinal, pid_t tid)
{
	pid_t now = ordinal ? target_tid(&t->nav->t, ordinal) : 0;

	return cell_is_plain() && now ? now : tid;
}
