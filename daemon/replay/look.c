/* SPDX-License-Identifier: MIT */
/* look.c: see look.h. */
#include "replay/look.h"

#include <stdio.h>
#include <string.h>

#include "replay/pick.h"
#include "replay/show.h"
#include "trace/walk.h"

#define STOPS_FEW 500 /* arrivals that cost less by ptrace than a walk's beginning */

static int walk_ended(void *ctx, struct trace *t, bool *over, struct err *e)
{
	return segment_is_over(ctx, t->pid, over, e);
}

static bool walk_cancelled(void *ctx)
{
	const struct segment *s = ctx;

	return s->t->cancelled && s->t->cancelled(s->t->progress_ctx);
}

static int comes_less_often(const struct look *l, uint64_t times, struct err *e)
{
	return err_set(e, ERR_USAGE, "thread %u is at 0x%llx only %llu times between event %llu and the next",
		       l->seg.thread, (unsigned long long)l->at.pc, (unsigned long long)times,
		       (unsigned long long)l->at.event);
}

/* A copy of the thread, at the first of these arrivals, walks to the last. 0; 1 when it cannot; or -1. */
static int walk_copy(struct look *l, uint64_t hits, struct err *e)
{
	static const struct trace_walk_ops ops = {.ended = walk_ended, .cancelled = walk_cancelled};
	struct trace_walk w = {
		.enter = l->nav.t.ctl->walk_addr,
		.gadget = l->seg.gadget,
		.end_watch = SEGMENT_TURN_ADDR,
		.ops = &ops,
		.ctx = &l->seg,
		.ask = {.places = 1, .place = {l->at.pc}, .nth = hits}, /* where it stands counts */
	};

	struct err why = {0};
	int r = -1;

	if (!w.enter || trace_fork(&l->seg.held, l->seg.gadget, &l->walked, &why))
		return 1;
	if (!trace_unshare_memory(&l->walked, l->seg.gadget, &why) && !trace_clear_all(&l->walked, &why))
		r = trace_walk_go(&w, &l->walked, &why);
	if (r == WALK_THERE)
		return 0;
	trace_kill(&l->walked);
	if (r == WALK_OVER)
		return comes_less_often(l, w.ask.arrivals, e);
	if (why.kind != ERR_CANCELLED)
		return 1;
	*e = why;
	return -1;
}

/* To the hits-th time at an address after the event. */
static int enter_segment(struct look *l, struct err *e)
{
	uint64_t hits = l->at.hits;
	int r;

	if (segment_begin(&l->seg, &l->nav.t, l->at.event, e))
		return -1;
	if (hits > STOPS_FEW) {
		if (segment_run_to(&l->seg, l->at.pc, 1, e))
			return -1;
		r = walk_copy(l, hits, e);
		if (r < 0)
			return -1;
		hits = r ? hits - 1 : 0;
	}
	if (segment_run_to(&l->seg, l->at.pc, hits, e))
		return -1;
	l->thread = l->seg.thread;
	l->tid = l->seg.tid;
	return 0;
}

/* libstdc++ brings what makes strings and containers readable. */
static const struct gdb_opts with_scripts = {.auto_load = true};

int look_goto(struct look *l, const json_t *params, struct op_ctx *ctx, struct err *e)
{
	const char *at = json_string_value(json_object_get(params, "at"));
	uint32_t process;

	memset(l, 0, sizeof(*l));
	if (pick_rec(params, &l->rec, e))
		return -1;
	process = pick_process(params, l->rec, e);
	if (!process || nav_init(&l->nav, l->rec, process, 0, ctx, e))
		return -1;
	l->have_nav = true;
	if (nav_resolve(&l->nav, at ? at : "end", &l->at, e) || nav_goto(&l->nav, l->at.event, e))
		return -1;
	l->thread = l->nav.t.ctl->parked;
	l->tid = target_tid(&l->nav.t, l->thread);
	l->g = gdb_new(&with_scripts, e);
	if (!l->g)
		return -1;
	return l->at.pc ? enter_segment(l, e) : 0;
}

void look_fini(struct look *l)
{
	struct err ignored;

	gdb_free(l->g);
	if (l->walked.alive)
		trace_kill(&l->walked);
	segment_end(&l->seg, &ignored);
	if (l->have_nav)
		nav_fini(&l->nav);
	rec_free(l->rec);
}

int look_attach(struct look *l, struct err *e)
{
	if (l->walked.alive) {
		trace_kill(&l->walked);
		if (segment_run_to(&l->seg, l->at.pc, l->at.hits - 1, e))
			return -1;
	}
	if (l->at.pc && segment_release(&l->seg, e))
		return -1;
	return gdb_attach(l->g, l->nav.t.pid, e);
}

int look_attach_copy(struct look *l, pid_t *copy, struct err *e)
{
	struct trace *held = l->walked.alive ? &l->walked : &l->seg.held;
	int r = l->at.pc ? segment_copy(&l->seg, held, copy, e) : target_snap(&l->nav.t, copy, e);

	if (r)
		return -1;
	if (!gdb_attach(l->g, *copy, e))
		return 0;
	target_snap_kill(*copy);
	return -1;
}

int look_drop(struct look *l, pid_t copy, struct err *e)
{
	int r = gdb_dead(l->g) ? 0 : gdb_detach(l->g, e);

	target_snap_kill(copy);
	return r;
}

int look_user_frame(struct look *l, pid_t tid, int *frame, struct err *e)
{
	struct gdb_frame *frames;
	size_t n;

	if (gdb_backtrace(l->g, tid, 64, &frames, &n, e))
		return -1;
	*frame = (int)stack_user_frame(frames, n);
	gdb_frames_free(frames, n);
	return 0;
}

json_t *look_position(const struct look *l)
{
	json_t *p = json_pack("{s:I, s:I, s:o}", "event", (json_int_t)l->at.event, "events_total",
			      (json_int_t)nav_total(&l->nav), "thread",
			      show_thread(&l->nav.t, l->nav.t.pid, l->thread, l->tid));

	if (l->at.pc) {
		json_object_set_new(p, "pc", json_sprintf("0x%llx", (unsigned long long)l->at.pc));
		json_object_set_new(p, "hits", json_integer((json_int_t)l->at.hits));
	}
	return p;
}
