/* SPDX-License-Identifier: MIT */
/* look.c: see look.h. */
#include "timetravel/look.h"

#include <string.h>

#include "replay/pick.h"
#include "replay/show.h"
#include "timetravel/cursor_int.h"

/* Goes to the hits-th time at an address after the event. */
static int enter_segment(struct look *l, struct err *e)
{
	if (cursor_goto_given(&l->cursor, &l->at, e))
		return -1;
	l->thread = l->cursor.in.seg.thread;
	l->tid = l->cursor.in.seg.tid;
	return 0;
}

static bool is_cancelled(void *ctx)
{
	return op_cancelled(ctx);
}

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
	l->g = gdb_new(&gdb_with_scripts, e);
	if (!l->g)
		return -1;
	if (!l->at.pc)
		return 0;
	cursor_init(&l->cursor, &l->nav);
	l->cursor.interrupted = is_cancelled;
	l->cursor.ctx = ctx;
	return enter_segment(l, e);
}

void look_fini(struct look *l)
{
	gdb_free(l->g);
	if (l->cursor.nav)
		cursor_fini(&l->cursor);
	if (l->have_nav)
		nav_fini(&l->nav);
	rec_free(l->rec);
}

int look_attach(struct look *l, struct err *e)
{
	if (l->at.pc && segcur_release(&l->cursor.in, e))
		return -1;
	return gdb_attach(l->g, l->nav.t.pid, e);
}

int look_attach_copy(struct look *l, pid_t *copy, struct err *e)
{
	struct cursor *t = &l->cursor;
	int r = l->at.pc ? segment_copy(&t->in.seg, &t->in.now, copy, e) : target_snap(&l->nav.t, copy, e);

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
