/* SPDX-License-Identifier: MIT */
/* held.c: see held.h. */
#define LOG_DOMAIN "explain"
#include "explain/held.h"

#include <pthread.h>
#include <stddef.h>

#include "chain/inspect.h"
#include "explain/failure.h"
#include "flow/flow.h"
#include "replay/stack.h"
#include "rlog/rlog.h"
#include "timetravel/cursor_int.h"

/* The event by which a thread got the lock at that address: its last one of that kind. 0: not found. */
static uint64_t acquisition(struct explain *x, uint32_t thread, uint64_t object)
{
	uint8_t hash = rlog_hash_addr((const void *)(uintptr_t)object);
	struct timeline_event ev;
	struct timeline_where w;
	struct err ignored;
	unsigned released = 0;

	for (uint64_t n = nav_total(&x->nav); n > nav_first(&x->nav); n--) {
		if (timeline_find(x->nav.t.tl, n, &w, &ignored) || w.thread != thread ||
		    timeline_read(x->nav.t.tl, n, &ev, &ignored) || !(ev.ev.rec.flags & RF_H) || ev.ev.rec.hash != hash)
			continue;
		switch (ev.ev.rec.kind) {
		case RLOG_UNLOCK:
		case RLOG_RWUNLOCK:
		case RLOG_SPIN_UNLOCK:
		case RLOG_SEM_POST:
			released++;
			break;
		case RLOG_LOCK:
		case RLOG_RDLOCK:
		case RLOG_WRLOCK:
		case RLOG_SPIN_LOCK:
		case RLOG_SEM_WAIT:
			if (!released)
				return n;
			released--;
			break;
		default:
			break;
		}
	}
	return 0;
}

/* The yield of the thread that is its last event before event n; 0: that is another one. */
static uint64_t yield_before(struct explain *x, uint32_t thread, uint64_t n)
{
	struct timeline_event ev;
	struct err ignored;

	n = failure_event_before(x, thread, n);
	return n && !timeline_read(x->nav.t.tl, n, &ev, &ignored) && ev.ev.rec.kind == RLOG_YIELD ? n : 0;
}

/*
 * Goes to the state before the event by which the thread got a lock. A call that had to wait yields first; then the
 * yield is the event that has a state before it. 0; 1: there is none; -1.
 */
static int to_acquisition(struct explain *x, uint32_t thread, uint64_t n, struct err *e)
{
	struct err why;
	int r = 1;

	for (; n && r > 0; n = r > 0 ? yield_before(x, thread, n) : 0) {
		r = cursor_goto_end(&x->t, n - 1, &why);
		if (r < 0 && why.kind != ERR_CANCELLED)
			r = 1;
	}
	if (r < 0)
		*e = why;
	return r;
}

/* What its owner holds. */
static uint64_t held_object(const struct waits_thread *t)
{
	return t->kind == WAIT_COND ? t->mutex : t->object;
}

/*
 * As long as a process has one thread, its locks make no events: goes back to the last write of the mutex's owner (in
 * glibc's pthread_mutex_t). As to_acquisition.
 */
static int to_silent_acquisition(struct explain *x, const struct waits_thread *wait, struct err *e)
{
	uint64_t owner = held_object(wait) + offsetof(pthread_mutex_t, __data.__owner);
	bool ignored;
	int r;

	if ((wait->kind != WAIT_MUTEX && wait->kind != WAIT_COND) || !wait->owner)
		return 1;
	r = explain_goto_failure(x, e);
	if (!r)
		r = flow_last_write(x, owner, sizeof(int), 0, &ignored, e);
	if (r < 0 && !explain_may_go_on(x, e))
		return -1;
	if (r)
		explain_reopen(x);
	return r ? 1 : 0;
}

static bool has_ended(const struct waits *w, uint32_t thread)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->v[i].thread == thread)
			return w->v[i].ended;
	return false;
}

/*
 * The address of the return address of the function that called the one in which the program stands. 0: not known; or
 * the compiler has inlined that function, and no instruction returns from it.
 */
static uint64_t return_slot(struct inspect *p)
{
	size_t own = (size_t)p->user;
	struct gdb_regs r;
	struct err ignored;

	if (stack_is_inlined(p->frames, p->nframes, own))
		return 0;
	if (gdb_frame_regs(p->x->g, 0, p->user + 1, &r, &ignored) || !(r.valid & 1u << GDB_REG_SP))
		return 0;
	return r.value[GDB_REG_SP] - 8;
}

/* returns by way of the same address, of other calls than the one that is looked for */
#define RETURNS 100u
#define LINE_STEPS 64u

/*
 * From the end of the thread back to the state after the return by way of that slot, of the call in which the program
 * stands at `at`, before its event. That is the first such return after `at`, as later calls may have the same slot. 0;
 * 1: it is not reached, or there are too many returns; -1.
 */
static int to_return(struct explain *x, const struct timeline_point *at, uint64_t slot, struct err *e)
{
	struct user_regs_struct r = {0};
	struct timeline_point first = {0};
	struct stop stop = {0};
	uint64_t to, last;
	bool all = false;
	uint32_t thread;
	int got;

	if (cursor_goto_point(&x->t, at, e))
		return -1;
	thread = x->t.in.seg.thread;
	to = failure_word(x, slot);
	last = failure_last_event(x, thread);
	got = last ? cursor_goto_end(&x->t, last - 1, e) : 1;
	if (got)
		return got;
	breaks_add(&x->t.breaks, to, 0);
	for (unsigned n = 0; n < RETURNS && !got && !all; n++) {
		if (cursor_back_continue(&x->t, &stop, e))
			got = -1;
		else if (stop.kind != STOP_BREAK || x->t.in.n <= at->event)
			all = true;
		else if (x->t.in.seg.thread == thread && !explain_regs(x, x->t.in.seg.tid, &r, e) &&
			 r.rsp == slot + 8 && cursor_where(&x->t, &first, e))
			got = -1;
	}
	breaks_remove(&x->t.breaks, to, 0);
	if (!got)
		got = all && first.pc ? cursor_goto_point(&x->t, &first, e) : 1;
	return got;
}

static int line_here(struct explain *x, uint64_t pc)
{
	struct gdb_line line = {0};
	struct err ignored;
	struct inspect p = {0};
	int n = 0;

	if (!inspect_open(&p, x, &ignored) && !gdb_line_at(x->g, pc, &line, &ignored))
		n = line.line;
	gdb_line_fini(&line);
	inspect_close(&p);
	return n;
}

/* From the state after the return into the function, to the last line before the one that returns. */
static int to_last_line(struct explain *x, pid_t tid, struct err *e)
{
	struct user_regs_struct r;
	struct stop stop = {0};
	int last = 0;

	for (unsigned n = 0; n < LINE_STEPS; n++) {
		int line;

		if (cursor_back_step(&x->t, tid, &stop, e) || explain_regs(x, tid, &r, e))
			return -1;
		line = stop.kind == STOP_STEP ? line_here(x, r.rip) : 0;
		if (!line || (last && line != last))
			break;
		last = line;
	}
	return 0;
}

/*
 * The owner has ended: adds the step at which it left the function that acquired the object, which no thread can
 * release any more.
 */
static int tell_leaving(struct explain *x, const struct waits_thread *t, const struct timeline_point *at, uint64_t slot,
			struct err *e)
{
	struct inspect p = {0};
	int r = to_return(x, at, slot, e);

	if (!r)
		r = to_last_line(x, x->t.in.seg.tid, e);
	if (r < 0 && !explain_may_go_on(x, e))
		return -1;
	if (r)
		return 0;
	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	if (x->t.in.seg.thread == t->owner)
		inspect_step(&p, STEP_RETURN, NULL, NULL, NULL,
			     "thread %u still held it here when it left %s, and ended later", t->owner,
			     inspect_function(&p, 0));
	inspect_close(&p);
	return 0;
}

int held_tell(struct explain *x, const struct waits *w, const struct waits_thread *t, struct err *e)
{
	uint64_t n = t->owner ? acquisition(x, t->owner, held_object(t)) : 0;
	struct timeline_point at;
	struct inspect p = {0};
	uint64_t slot;
	int r;

	r = n ? to_acquisition(x, t->owner, n, e) : to_silent_acquisition(x, t, e);
	if (r)
		return r < 0 ? -1 : 0;
	if (inspect_open(&p, x, e)) {
		inspect_close(&p);
		return -1;
	}
	if (flow_look_past(&p, held_object(t), e))
		return -1;
	if (x->t.in.seg.thread == t->owner)
		inspect_step(&p, STEP_ACQUIRE, NULL, NULL, NULL, "thread %u acquired here what thread %u waits for",
			     t->owner, t->thread);
	at = p.at;
	slot = has_ended(w, t->owner) ? return_slot(&p) : 0;
	inspect_close(&p);
	return slot ? tell_leaving(x, t, &at, slot, e) : 0;
}

#define END_STEPS 3000u /* of the recorder and of libc, after the thread's function has returned */

/* From the event with which a thread ended back into its function, to where it left that. 0; 1: it is not met; -1. */
static int to_end(struct explain *x, uint64_t ended, struct err *e)
{
	int r = cursor_goto_end(&x->t, ended - 1, e);
	pid_t tid = x->t.in.seg.tid;

	for (unsigned n = 0; !r && n < END_STEPS; n++) {
		struct user_regs_struct regs;
		struct stop stop;

		if (cursor_back_step(&x->t, tid, &stop, e))
			return -1;
		if (stop.kind != STOP_STEP || explain_regs(x, tid, &regs, e))
			return stop.kind != STOP_STEP ? 1 : -1;
		if (!visibility_is_certain(&x->t.visibility, regs.rip) || !line_here(x, regs.rip))
			continue;
		return to_last_line(x, tid, e);
	}
	return r ? r : 1;
}

int held_tell_end(struct explain *x, uint64_t ended, struct err *e)
{
	struct inspect p = {0};
	int r = to_end(x, ended, e);

	if (r < 0 && explain_may_go_on(x, e))
		r = 1;
	if (!r)
		r = inspect_open(&p, x, e);
	if (!r && json_is_string(json_object_get(p.location, "file")))
		inspect_step(&p, STEP_RETURN, NULL, NULL, NULL,
			     "thread %u left %s here and ended: of the threads that had woken it none is left",
			     x->t.in.seg.thread, inspect_function(&p, (size_t)p.user));
	else if (!r)
		r = 1;
	inspect_close(&p);
	return r;
}
