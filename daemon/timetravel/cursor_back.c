/* SPDX-License-Identifier: MIT */
/*
 * cursor_back.c: backwards. A step back is one in the segment, or the end of the thread's segment before. A continue
 * goes through the segments from a checkpoint up to here, counts the stops, and then goes to the last of them.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/str.h"

#include "segcursor/segcursor_int.h"
#include "timetravel/cursor_int.h"

#define NEAR_EVENTS 100
#define CALLS_MAX 1000 /* segments of one call */

/* A copy of a thread's process that outlives it: its PID must not be in use any more, not even as a session's. */
static int keep_state(struct cursor *t, struct group_thread *th, struct trace *here, struct err *e)
{
	static const uint64_t none[6];
	uint64_t gadget;
	int64_t ret;

	return segment_find_gadget(t->group.pid, &gadget, e) || trace_fork(&th->t, gadget, here, e) ||
			       trace_unshare_memory(here, gadget, e) ||
			       trace_syscall(here, gadget, SYS_setsid, none, &ret, e)
		       ? -1
		       : 0;
}

int cursor_copy(struct cursor *t, struct trace *copy, struct err *e)
{
	struct group_thread *th;

	if (t->mode == CURSOR_INSIDE)
		return segcur_copy(&t->in, &t->in.now, copy, e) || trace_unshare_memory(copy, t->in.seg.gadget, e) ? -1 : 0;
	th = group_find(&t->group, t->tid);
	return th ? keep_state(t, th, copy, e) : err_set(e, ERR_USAGE, "thread %d is no more", (int)t->tid);
}

/* *count: as segcur_find_counting, if that is easy. */
static int find_inside(struct cursor *t, struct trace *here, struct breaks *b, struct segcur_count *count, struct err *e)
{
	int r = segcur_find_counting(&t->in, here, b, count, e);

	if (!r || (r < 0 && e->kind == ERR_CANCELLED))
		return r;
	return segcur_find(&t->in, here, e); /* a place that is not exactly the same may do */
}

/* The stops of b before it are counted, as find_inside does. */
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
		return err_set(e, ERR_USAGE, "thread %d is no more", (int)t->tid);
	sig = th->sig;
	if (keep_state(t, th, &here, e))
		return -1;
	r = cursor_enter_any(t, n, e);
	if (!r)
		r = find_inside(t, &here, b, count, e);
	if (!r) /* a fault that has been told: it comes again, and is delivered then */
		t->in.sig = -sig;
	segcur_drop(&here);
	if (r > 0)
		return err_set(e, ERR_INTERNAL, "the state of thread %d behind event %llu is not met again",
			       (int)t->tid, (unsigned long long)n);
	return r;
}

int cursor_go_inside(struct cursor *t, struct err *e)
{
	struct segcur_count count = {0};
	struct breaks none = {0};
	int r = go_inside(t, &none, &count, e);

	segcur_count_fini(&count);
	return r;
}

int cursor_where(struct cursor *t, struct timeline_point *p, struct err *e)
{
	struct breaks b = {0};
	int r;

	if (cursor_go_inside(t, e))
		return -1;
	*p = (struct timeline_point){.event = t->in.n};
	if (trace_get_pc(&t->in.now, &p->pc, e))
		return -1;
	breaks_add(&b, p->pc, 0);
	r = segcur_count_stops(&t->in, &b, &p->hits, e);
	breaks_fini(&b);
	p->hits++;
	return r;
}

uint32_t cursor_ordinal(const struct cursor *t, pid_t tid)
{
	for (uint32_t o = 1; o < RLOG_MAX_THREADS; o++)
		if (target_tid(&t->nav->t, o) == tid)
			return o;
	return 0;
}

/*
 * Who goes back goes on going back: a checkpoint some events before makes the next steps cheap. Without one
 * everything still works.
 */
static int come_from_near(struct cursor *t, uint64_t n, struct err *e)
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

/* To the last visible state of a segment before event n, of thread `who` (0: any). 1: there is none. */
static int segment_before(struct cursor *t, uint64_t n, uint32_t who, struct err *e)
{
	for (; n > nav_first(t->nav); n--) {
		struct timeline_where w;
		int r;

		if (timeline_find(t->nav->t.tl, n, &w, e))
			return -1;
		if (who && w.thread != who)
			continue;
		r = come_from_near(t, n - 1, e) ? -1 : cursor_enter(t, n - 1, e);
		if (!r)
			r = segcur_to_end(&t->in, e);
		if (r <= 0)
			return r;
	}
	return 1;
}

int cursor_last(struct cursor *t, struct err *e)
{
	return t->history_end.on ? cursor_goto_end(t, t->history_end.n, e) : segment_before(t, nav_total(t->nav), 0, e);
}

static int at_begin(struct cursor *t, struct stop *stop, struct err *e)
{
	stop->kind = STOP_BEGIN;
	return cursor_goto(t, 0, e);
}

/* To the visible state before. */
static int one_back(struct cursor *t, pid_t tid, struct stop *stop, struct err *e)
{
	uint32_t who = cursor_ordinal(t, tid);
	uint64_t n = cursor_event(t);
	int r;

	if (tid == t->in.seg.tid) {
		r = segcur_back(&t->in, e);
		if (r <= 0)
			return r;
	}
	r = segment_before(t, n, who, e);
	if (r <= 0)
		return r;
	if (who <= 1)
		return at_begin(t, stop, e);
	/* The thread begins here, and here it stays: GDB 13 dies when another one than it steps stops (finish_step_over). */
	stop->kind = STOP_FIRST;
	return t->mode == CURSOR_INSIDE && t->in.n == n ? 0 : cursor_goto(t, n, e);
}

/* Out of what was called on the way to `here`. 1: it is not known how one comes there. */
static int to_entry(struct cursor *t, const struct user_regs_struct *here, struct err *e)
{
	uint32_t who = t->in.seg.thread;

	for (unsigned i = 0; i < CALLS_MAX; i++) {
		struct user_regs_struct r;
		int got;

		if (trace_get_regs(&t->in.now, &r, e))
			return -1;
		if (visibility_is_called_from(&t->visibility, t->in.now.pid, &r, here))
			return 0;
		if (r.rsp + sizeof(r.rsp) >= here->rsp)
			return 1;
		got = segment_before(t, cursor_event(t), who, e);
		if (got)
			return got;
	}
	return 1;
}

/*
 * Back from where a call of the shim's returned, and now in a function of the program's that ran in there, a signal handler
 * or a library's constructor: backwards such a call is one step, to its entry. A debugger knows how to go on from there,
 * in its caller's frame; of what runs further in it would have to see all.
 */
static int leave_call(struct cursor *t, const struct user_regs_struct *here, struct err *e)
{
	struct user_regs_struct r;
	struct timeline_point p;
	int got;

	if (trace_get_regs(&t->in.now, &r, e))
		return -1;
	if (r.rsp + sizeof(r.rsp) >= here->rsp)
		return 0;
	if (cursor_where(t, &p, e))
		return -1;
	got = to_entry(t, here, e);
	return got > 0 ? cursor_goto_pc(t, p.event, p.pc, p.hits, e) : got;
}

/* A step back over a change is a stop of the watchpoint. */
static void see_change(const struct cursor *t, const struct breaks_words *was, struct stop *stop)
{
	struct breaks_words now;

	breaks_look(&t->breaks, cursor_memory(t), &now);
	for (unsigned i = 0; stop->kind == STOP_STEP && i < BREAKS_WATCHES; i++) {
		const struct group_slot *s = &t->breaks.watch[i];

		if (memcmp(was->v[i], now.v[i], sizeof(now.v[i])))
			*stop = (struct stop){STOP_WATCH, 0, s->addr, s->kind};
	}
}

/* One back over an access that is watched is one, too: the same step on would be. */
static int see_access(struct cursor *t, pid_t tid, struct stop *stop, struct err *e)
{
	struct stop on = {0};
	bool watched = false;

	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		watched |= t->breaks.watch[i].kind == GROUP_ACCESS;
	if (!watched || stop->kind != STOP_STEP || t->in.seg.tid != tid)
		return 0;
	if (segcur_look_on(&t->in, &t->breaks, &on, e))
		return -1;
	if (on.watch == GROUP_ACCESS)
		*stop = (struct stop){STOP_WATCH, 0, on.addr, on.watch};
	return 0;
}

static int back_step(struct cursor *t, pid_t tid, struct stop *stop, struct err *e)
{
	struct user_regs_struct here;
	bool returned;

	*stop = (struct stop){.kind = STOP_STEP};
	if (trace_get_regs(&t->in.now, &here, e))
		return -1;
	returned = tid == t->in.seg.tid && visibility_is_certain(&t->visibility, here.rip) && visibility_has_returned(t->in.now.pid, &here);
	if (one_back(t, tid, stop, e))
		return -1;
	return returned && stop->kind == STOP_STEP && t->in.seg.tid == tid ? leave_call(t, &here, e) : 0;
}

int cursor_back_step_few(struct cursor *t, pid_t tid, struct stop *stop, struct err *e)
{
	struct breaks_words was;

	if (cursor_go_inside(t, e))
		return -1;
	breaks_look(&t->breaks, cursor_memory(t), &was);
	if (back_step(t, tid, stop, e))
		return -1;
	see_change(t, &was, stop);
	return see_access(t, tid, stop, e);
}

int cursor_back_over(struct cursor *t, pid_t tid, uint64_t lo, uint64_t hi, uint64_t sp, struct stop *stop, struct err *e)
{
	*stop = (struct stop){.kind = STOP_STEP};
	return t->mode == CURSOR_INSIDE && tid == t->in.seg.tid ? segcur_back_over(&t->in, &t->breaks, lo, hi, sp, e) : 1;
}

/* It stands at a stop of the segment; a watchpoint is met before the instruction that changes it. */
static int at_stop(struct cursor *t, struct stop *stop, struct err *e)
{
	struct stop back;

	t->tid = t->in.seg.tid;
	cursor_see_signal(t, stop);
	return stop->kind == STOP_WATCH && !stop->before ? cursor_back_step_few(t, t->tid, &back, e) : 0;
}

/* The stop k of a segment. */
static int to_stop(struct cursor *t, uint64_t k, struct stop *stop, struct err *e)
{
	int r = segcur_nth_stop(&t->in, &t->breaks, k, stop, e);

	if (r > 0)
		return err_set(e, ERR_INTERNAL, "stop %llu behind event %llu is not met again",
			       (unsigned long long)k, (unsigned long long)t->in.n);
	return r ? r : at_stop(t, stop, e);
}

/* Inside the last stop's segment: there. */
static int to_last(struct cursor *t, const struct cursor_last *last, struct stop *stop, struct err *e)
{
	int r;

	if (!last->many)
		return to_stop(t, last->k, stop, e);
	r = segcur_last_stop(&t->in, &t->breaks, stop, e);
	if (r > 0)
		return err_set(e, ERR_INTERNAL, "the stops behind event %llu are not met again", (unsigned long long)last->event);
	return r ? r : at_stop(t, stop, e);
}

static bool is_over(const struct stop *stop)
{
	return stop->kind == STOP_LIMIT || stop->kind == STOP_END;
}

/* From CURSOR_GROUP up to event `to`. */
static int run_to(struct cursor *t, uint64_t to, struct stop *stop, struct err *e)
{
	int r = cursor_run(t, 0, to, stop, e);

	return !r && stop->kind == STOP_INTERRUPT ? err_set(e, ERR_CANCELLED, "interrupted") : r;
}

/* In a segment with very many stops: past all of them. */
static int run_past(struct cursor *t, uint64_t to, struct stop *stop, struct err *e)
{
	struct breaks kept = t->breaks;
	int r = 0;

	memset(&t->breaks, 0, sizeof(t->breaks));
	do
		r = run_to(t, to, stop, e);
	while (!r && !is_over(stop));
	t->breaks = kept;
	return r;
}

void cursor_maybe(struct cursor_last *last, uint64_t event)
{
	if (!last->all && last->k && last->event == event) {
		last->many = true;
		return;
	}
	if (last->maybes && last->maybe[last->maybes - 1] == event)
		return;
	last->maybe = xreallocarray(last->maybe, last->maybes + 1, sizeof(last->maybe[0]));
	last->maybe[last->maybes++] = event;
}

static bool changes_memory(const struct rlog_rec *r)
{
	static const long calls[] = {SYS_mmap,	SYS_munmap,  SYS_brk,		    SYS_mremap,		SYS_madvise,
				     SYS_shmat, SYS_shmdt,   SYS_remap_file_pages, SYS_process_madvise};

	if (r->kind == RLOG_PAGE)
		return true;
	for (unsigned i = 0; r->kind == RLOG_SYS && r->nops && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (r->op[0] == (uint64_t)calls[i])
			return true;
	return false;
}

int cursor_remaps(struct cursor *t, uint64_t from, uint64_t to, struct err *e)
{
	struct timeline_event ev;
	struct timeline_walk w;
	int r = 0, found = 0;

	if (from >= to)
		return 0;
	if (timeline_walk_init(&w, t->nav->t.tl, from + 1, e))
		return -1;
	for (uint64_t n = from; n < to && !found && (r = timeline_walk_next(&w, &ev, e)) > 0; n++)
		found = changes_memory(&ev.ev.rec);
	timeline_walk_fini(&w);
	return r < 0 ? -1 : found;
}

/* The rest of the segment in which it stopped is not counted. */
static bool is_left(struct cursor_last *last, const struct stop *stop, uint64_t event)
{
	if (stop->kind == STOP_HOT)
		cursor_maybe(last, event);
	return stop->kind == STOP_HOT || (last->many && last->event == event);
}

/* From CURSOR_GROUP up to event `to`: *last is the last stop on the way, or stays what it is. */
static int last_stop(struct cursor *t, uint64_t to, struct cursor_last *last, struct err *e)
{
	struct stop stop = {0};
	uint64_t at;
	int r = 0;

	while (!r && !is_over(&stop)) {
		t->count = last;
		r = run_to(t, to, &stop, e);
		t->count = NULL;
		if (r || is_over(&stop) || !is_left(last, &stop, nav_at(t->nav)))
			continue;
		at = nav_at(t->nav);
		r = run_past(t, at + 1, &stop, e);
		if (!r && at + 1 < to)
			stop.kind = 0;
	}
	return r;
}

/* The last stop in the segments from event `from` up to event `to`, by going once through all of them. */
static int sweep(struct cursor *t, uint64_t from, uint64_t to, struct cursor_last *last, struct err *e)
{
	uint64_t cuts[CURSOR_CUTS];
	unsigned n;

	if (cursor_hold(t, from, e))
		return -1;
	n = cursor_cuts(t, from, to, cuts);
	for (unsigned i = 0; i < n; i++)
		if (last_stop(t, cuts[i], last, e) || cursor_checkpoint(t, e))
			return -1;
	return last_stop(t, to, last, e);
}

static uint64_t piece_before(struct cursor *t, uint64_t to)
{
	uint64_t from, first = nav_first(t->nav);

	return to > first && nav_ckpt_before(t->nav, to - 1, &from) && from > first ? from : first;
}

/* Interrupted somewhere in between, which is no place to go on from; but behind `to`, at a checkpoint, all has been searched. */
static int given_up(struct cursor *t, uint64_t to, struct stop *stop, struct err *e)
{
	struct err why;

	if (e->kind != ERR_CANCELLED || cursor_goto(t, to, &why))
		return -1;
	stop->kind = STOP_INTERRUPT;
	return 0;
}

int cursor_stopped_segments(struct cursor *t, uint64_t *to, struct cursor_last *all, struct err *e)
{
	uint64_t from = piece_before(t, *to), fork;
	int r = 0;

	*all = (struct cursor_last){.all = true};
	if (cursor_fork_before(t, *to, &fork, e))
		return -1;
	if (fork == *to) {
		from = fork - 1;
		cursor_maybe(all, from);
	} else {
		from = from < fork ? fork : from;
		r = sweep(t, from, *to, all, e);
	}
	*to = from;
	return r;
}

/* To the last stop of those that a sweep has met. 1: there is none. */
static int last_swept(struct cursor *t, const struct cursor_last *last, struct stop *stop, struct err *e)
{
	for (size_t i = last->maybes; i > 0; i--) {
		int r = cursor_enter_any(t, last->maybe[i - 1], e) ? -1 : segcur_last_stop(&t->in, &t->breaks, stop, e);

		if (r <= 0)
			return r ? -1 : at_stop(t, stop, e);
	}
	if (!last->k)
		return 1;
	return cursor_enter_any(t, last->event, e) || to_last(t, last, stop, e) ? -1 : 0;
}

/*
 * The last stop before event `to`, which is changed to the one up to which there is none (1). A fork that is followed is gone
 * around: its segment is looked at by itself.
 */
static int last_before(struct cursor *t, uint64_t *to, struct stop *stop, struct err *e)
{
	struct cursor_last last = {0};
	uint64_t from, fork;
	int r;

	if (cursor_fork_before(t, *to, &fork, e))
		return -1;
	from = piece_before(t, *to);
	if (fork == *to) {
		from = fork - 1;
		r = cursor_enter_any(t, from, e) ? -1 : segcur_last_stop(&t->in, &t->breaks, stop, e);
		if (r <= 0)
			return r ? -1 : at_stop(t, stop, e);
	} else {
		from = from < fork ? fork : from;
		r = sweep(t, from, *to, &last, e) ? -1 : last_swept(t, &last, stop, e);
		free(last.maybe);
		if (r <= 0)
			return r;
	}
	*to = from;
	return 1;
}

/* To the last stop in this segment. 1: there is none. */
static int back_inside(struct cursor *t, struct stop *stop, struct err *e)
{
	struct segcur_count count = {0};
	int r = go_inside(t, &t->breaks, &count, e);

	if (!r)
		r = count.known ? segcur_to_counted(&t->in, &t->breaks, &count, stop, e)
			       : segcur_back_to_stop(&t->in, &t->breaks, stop, e);
	segcur_count_fini(&count);
	return r;
}

int cursor_back_continue_few(struct cursor *t, struct stop *stop, struct err *e)
{
	uint64_t to, here;
	int r;

	*stop = (struct stop){0};
	r = back_inside(t, stop, e);
	if (r <= 0)
		return r ? -1 : at_stop(t, stop, e);
	to = here = cursor_event(t);
	while (to > nav_first(t->nav) && to > t->least && (!breaks_empty(&t->breaks) || cursor_has_signals(t))) {
		r = last_before(t, &to, stop, e);
		if (r < 0)
			return to == here ? -1 : given_up(t, to, stop, e);
		if (!r)
			return 0;
	}
	if (t->least) {
		stop->kind = STOP_LIMIT;
		return 0;
	}
	return at_begin(t, stop, e);
}
