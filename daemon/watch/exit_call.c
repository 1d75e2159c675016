/* SPDX-License-Identifier: MIT */
/*
 * exit_call.c: see exit_call.h. The frame of exit is on the stack from the call on to the end of the process: that is
 * bisected, from the end backwards, near which it mostly is.
 */
#include "watch/exit_call.h"

#include "base/cleanup.h"
#include "base/str.h"

static bool is_exit(const char *func)
{
	static const char *const names[] = {"exit", "__GI_exit", "quick_exit", "__GI_quick_exit"};

	for (size_t i = 0; func && i < sizeof(names) / sizeof(names[0]); i++)
		if (str_eq(func, names[i]))
			return true;
	return false;
}

static int look_up(struct gdb *g, pid_t tid, const struct gdb_frame *f, struct exit_call *x)
{
	cleanup_free char *what = str_fmt("(unsigned long)&%s", f->func), *text = NULL;
	struct err ignored;

	if (gdb_eval(g, what, tid, f->level, 0, &text, &ignored) || str_u64(text, 10, 1, UINT64_MAX, &x->pc))
		return -1;
	return expr_locals_frame_at(g, tid, f->level, &x->frame);
}

void exit_call_find(struct gdb *g, pid_t tid, struct exit_call *x)
{
	struct gdb_frame *frames;
	struct err ignored;
	size_t n;

	*x = (struct exit_call){0};
	if (gdb_backtrace(g, tid, 0, &frames, &n, &ignored))
		return;
	/* a handler of atexit may call it again: the outermost call is meant */
	for (size_t i = n; i-- > 0;)
		if (is_exit(frames[i].func)) {
			if (look_up(g, tid, &frames[i], x))
				*x = (struct exit_call){0};
			break;
		}
	gdb_frames_free(frames, n);
}

static int is_inside(const struct exit_call *x, struct nav *n, uint64_t event, bool *inside, struct err *e)
{
	if (nav_goto(n, event, e))
		return -1;
	*inside = expr_locals_alive(&x->frame, n->t.pid);
	return 0;
}

int exit_call_begin(const struct exit_call *x, struct nav *n, uint64_t from, uint64_t to, struct timeline_point *at,
		    struct err *e)
{
	uint64_t before = from, behind = to, step = 1;
	bool inside = false, found = false;

	n->what = "looking for the call of exit";
	while (behind - before > 1) {
		uint64_t mid = behind - before > 2 * step && !found ? behind - step : before + (behind - before) / 2;

		if (is_inside(x, n, mid, &inside, e))
			return -1;
		if (inside) {
			behind = mid;
			step *= 2;
		} else {
			before = mid;
			found = true;
		}
	}
	if (before == from && is_inside(x, n, from, &inside, e))
		return -1;
	if (before == from && inside)
		return 1;
	*at = (struct timeline_point){.event = before, .pc = x->pc, .hits = 1};
	return 0;
}
