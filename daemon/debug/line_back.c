/* SPDX-License-Identifier: MIT */
/*
 * line_back.c: steps back in a loop of one line (lines.h). If its rounds have no events, a walk of the segment finds
 * where the thread entered the line (cursor_back_over). Else all instructions of the function's other lines become
 * breakpoints: the search goes back to the last one that was met in this frame, and from there forwards into the line.
 */
#include <string.h>

#include "agent/agent.h"
#include "debug/debug.h"
#include "timetravel/cursor_int.h"

#define STEPS_IN 50 /* from the other line into this one: mostly it is one step */
/* bytes of the stack that contain the frame and its callers' frames, and no other thread's stack */
#define FRAME 65536

static int note_line(struct debug *d, struct err *e)
{
	struct trace *t = d->lines.n ? cursor_thread(&d->cursor, d->cursor.tid, e) : NULL;
	struct user_regs_struct r;

	if (!d->lines.n)
		return 0;
	if (!t || trace_get_regs(t, &r, e))
		return -1;
	lines_note(&d->lines, cursor_event(&d->cursor), r.rip, r.rsp);
	return 0;
}

static size_t put(uint8_t *to, uint8_t op, uint64_t operand, unsigned bytes)
{
	*to++ = op;
	for (unsigned i = 0; i < bytes; i++)
		to[i] = (uint8_t)(operand >> (8 * (bytes - 1 - i)));
	return 1 + bytes;
}

/* rsp - sp < FRAME, in agent expression bytecode. */
static size_t in_frame(uint64_t sp, uint8_t code[32])
{
	size_t n = put(code, AGENT_reg, 7, 2);

	n += put(code + n, AGENT_const64, sp, 8);
	n += put(code + n, AGENT_sub, 0, 0);
	n += put(code + n, AGENT_const32, FRAME, 4);
	n += put(code + n, AGENT_less_unsigned, 0, 0);
	return n + put(code + n, AGENT_end, 0, 0);
}

/* Breakpoints at all instructions of other lines; *any: there are some. */
static void stop_at_others(const struct lines *l, struct breaks *b, bool *any)
{
	uint8_t code[32];
	size_t len = in_frame(l->sp, code);

	*any = false;
	for (unsigned i = 0; i < l->insns; i++) {
		if (lines_is_in(l, l->insn[i]))
			continue;
		breaks_add(b, l->insn[i], 0);
		breaks_condition(b, l->insn[i], code, len);
		*any = true;
	}
}

/*
 * Goes from an instruction of another line to the first instruction that is part of the loop's rounds. Instructions of
 * the line before those are left to the debugger, which steps and looks for the line's beginning. 1: the way is not
 * known.
 */
static int come_in(struct debug *d, pid_t tid, struct stop *stop, struct err *e)
{
	struct cursor *t = &d->cursor;

	for (unsigned i = 0; i < STEPS_IN; i++) {
		struct user_regs_struct r;
		struct trace *th;

		if (cursor_step(t, tid, stop, e))
			return -1;
		if (stop->kind != STOP_STEP || t->tid != cursor_now(t, tid))
			return 1;
		th = cursor_thread(t, tid, e);
		if (!th || trace_get_regs(th, &r, e))
			return -1;
		if (r.rip >= d->lines.lo && r.rip <= d->lines.last && r.rsp - d->lines.sp < FRAME)
			return 0;
	}
	return 1;
}

/* Goes back to the debugger's own last stop, or to where the thread has entered the line. 1: neither. */
static int back_to_other(struct debug *d, pid_t tid, struct breaks *others, struct stop *stop, struct err *e)
{
	struct cursor *t = &d->cursor;
	uint32_t who = cursor_ordinal(t, tid);
	struct breaks mine = t->breaks;
	struct trace *th;
	uint64_t pc;
	int r;

	others->view = mine.view;
	breaks_add_all(others, &mine);
	t->breaks = *others;
	r = cursor_back_continue(t, stop, e);
	*others = t->breaks;
	t->breaks = mine;
	if (r)
		return -1;
	if (stop->kind != STOP_BREAK)
		return stop->kind == STOP_BEGIN || stop->kind == STOP_FIRST;
	th = cursor_thread(t, t->tid, e);
	if (!th || trace_get_pc(th, &pc, e))
		return -1;
	if (breaks_has(&mine, pc))
		return 0;
	tid = cursor_tid_of(t, who, tid);
	return t->tid == tid ? come_in(d, tid, stop, e) : 1;
}

/* 1: not possible here, and nothing has happened. */
static int back_far(struct debug *d, pid_t tid, struct stop *stop, struct err *e)
{
	struct cursor *t = &d->cursor;
	struct timeline_point here;
	struct breaks others = {0};
	bool any, moved;
	int r = 1;

	stop_at_others(&d->lines, &others, &any);
	moved = any && tid == t->tid;
	if (moved)
		r = cursor_where(t, &here, e) ? -1 : back_to_other(d, tid, &others, stop, e);
	breaks_fini(&others);
	if (r == 1 && moved && cursor_goto_point(t, &here, e))
		return -1;
	return r;
}

int lines_back_step(struct debug *d, int tid, struct stop *stop, struct err *e)
{
	uint32_t who = cursor_ordinal(&d->cursor, tid);
	struct lines_range range;
	uint64_t sp;
	int r = 1;

	if (lines_due(&d->lines, &range, &sp))
		r = cursor_back_over(&d->cursor, tid, range.lo, range.hi, sp, stop, e);
	if (r > 0 && lines_far_due(&d->lines))
		r = back_far(d, cursor_tid_of(&d->cursor, who, tid), stop, e);
	if (r > 0)
		r = cursor_back_step(&d->cursor, cursor_tid_of(&d->cursor, who, tid), stop, e);
	return r ? r : note_line(d, e);
}
