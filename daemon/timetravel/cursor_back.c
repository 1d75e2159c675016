/* SPDX-License-Identifier: MIT */
/*
 * cursor_back.c: backwards. A step back is one in the segment, or the end of the thread's segment before. A continue
 * goes through the segments from a checkpoint up to here, counts the stops, and then goes to the last of them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#include "segcursor/segcursor_int.h"
#include "timetravel/cursor_int.h"

#define CALLS_MAX 1000 /* segments of one call that are examined */
/* from a call to the function: the dynamic linker may have to find the function first */
#define ENTRY_STEPS 10000
#define PART_MAX 64 /* segments that are looked at together, forwards */
/* the patience is halved for each segment that is left out for its many writes, down to this */
#define WRITES_LEAST 8

static int at_begin(struct cursor *t, struct stop *stop, struct err *e)
{
	stop->kind = STOP_BEGIN;
	return cursor_goto(t, 0, e);
}

/* Goes to the previous visible state of the thread. */
static int one_back(struct cursor *t, pid_t tid, struct stop *stop, struct err *e)
{
	uint32_t who = cursor_ordinal(t, tid);
	uint64_t n = cursor_event(t);
	int r;

	if (tid == t->in.seg.tid) {
		r = t->ops->back(&t->in, e);
		if (r <= 0)
			return r;
	}
	r = cursor_segment_before(t, n, who, e);
	if (r <= 0)
		return r;
	if (who <= 1)
		return at_begin(t, stop, e);
	/*
	 * The thread begins here, and the cursor stays here: GDB 13 crashes when another thread stops than the one that
	 * it steps (finish_step_over).
	 */
	stop->kind = STOP_FIRST;
	return t->mode == CURSOR_INSIDE && t->in.n == n ? 0 : cursor_goto(t, n, e);
}

/*
 * The same if the call began in this segment, before the present state: the last store to the word with its return
 * address was made by that call.
 */
static int to_entry_in_segment(struct cursor *t, const struct user_regs_struct *here, struct err *e)
{
	struct breaks call = {.watch[0] = {GROUP_STORE, here->rsp - sizeof(here->rsp), sizeof(here->rsp)}};
	struct user_regs_struct r;
	struct stop stop;
	int got = t->ops->back_to_stop(&t->in, &call, &stop, e);

	breaks_fini(&call);
	for (unsigned i = 0; !got && i < ENTRY_STEPS; i++) {
		if (t->ops->regs(t, t->in.seg.tid, &r, e))
			return -1;
		if (visibility_is_called_from(&t->visibility, t->in.now.pid, &r, here))
			return 0;
		if (t->ops->step(&t->in, NULL, &stop, e))
			return -1;
		got = stop.kind != STOP_STEP;
	}
	return got < 0 ? -1 : 1;
}

/* Goes back to the entry of the call of the shim that returned to `here`. 1: that entry is not found. */
static int to_entry(struct cursor *t, const struct user_regs_struct *here, struct err *e)
{
	uint32_t who = t->in.seg.thread;

	for (unsigned i = 0; i < CALLS_MAX; i++) {
		struct user_regs_struct r;
		int got;

		if (t->ops->regs(t, t->in.seg.tid, &r, e))
			return -1;
		if (visibility_is_called_from(&t->visibility, t->in.now.pid, &r, here))
			return 0;
		if (r.rsp + sizeof(r.rsp) >= here->rsp)
			return 1;
		got = to_entry_in_segment(t, here, e);
		if (got <= 0)
			return got;
		got = cursor_segment_before(t, cursor_event(t), who, e);
		if (got)
			return got;
	}
	return 1;
}

/*
 * A step back from where a call of the shim returned has led into a function of the program that ran inside that call:
 * a signal handler, a library's constructor, or a function that chooses one (IFUNC). Backwards, such a call is one
 * step, to its entry. From the entry, in the caller's frame, a debugger knows how to go on; inside, it would have to go
 * back through all that ran there.
 */
static int leave_call(struct cursor *t, const struct user_regs_struct *here, struct err *e)
{
	struct user_regs_struct r;
	struct timeline_point p;
	int got;

	if (t->ops->regs(t, t->in.seg.tid, &r, e))
		return -1;
	if (r.rsp + sizeof(r.rsp) >= here->rsp)
		return 0;
	if (cursor_where(t, &p, e))
		return -1;
	got = to_entry(t, here, e);
	return got > 0 ? cursor_goto_point(t, &p, e) : got;
}

/* A step back over a change of a watched word is a stop of the watchpoint. */
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

/* So is a step back over a watched access, since the same step forwards would be a stop. */
static int see_access(struct cursor *t, pid_t tid, struct stop *stop, struct err *e)
{
	struct stop on = {0};
	bool watched = false;

	for (unsigned i = 0; i < BREAKS_WATCHES; i++)
		watched |= t->breaks.watch[i].kind == GROUP_ACCESS;
	if (!watched || stop->kind != STOP_STEP || t->in.seg.tid != tid)
		return 0;
	if (t->ops->look_on(&t->in, &t->breaks, &on, e))
		return -1;
	if (on.watch == GROUP_ACCESS)
		*stop = (struct stop){STOP_WATCH, 0, on.addr, on.watch};
	return 0;
}

static int back_step(struct cursor *t, pid_t tid, struct stop *stop, struct err *e)
{
	uint32_t who = cursor_ordinal(t, tid);
	struct user_regs_struct here;
	bool returned;

	*stop = (struct stop){.kind = STOP_STEP};
	if (t->ops->regs(t, t->in.seg.tid, &here, e))
		return -1;
	returned = tid == t->in.seg.tid && visibility_is_certain(&t->visibility, here.rip) &&
		   visibility_has_returned(t->in.now.pid, &here);
	if (one_back(t, tid, stop, e))
		return -1;
	tid = cursor_tid_of(t, who, tid);
	return returned && stop->kind == STOP_STEP && t->in.seg.tid == tid ? leave_call(t, &here, e) : 0;
}

int cursor_back_step_few(struct cursor *t, pid_t tid, struct stop *stop, struct err *e)
{
	uint32_t who = cursor_ordinal(t, tid);
	struct breaks_words was;

	if (cursor_go_inside(t, e))
		return -1;
	breaks_look(&t->breaks, cursor_memory(t), &was);
	if (back_step(t, cursor_tid_of(t, who, tid), stop, e))
		return -1;
	see_change(t, &was, stop);
	return see_access(t, cursor_tid_of(t, who, tid), stop, e);
}

/* The cursor stands after the change of a word that has a condition: notes the word's value there. */
static void note_after(struct cursor *t, const struct stop *stop)
{
	struct watch_condition *c = NULL;
	struct err ignored;

	for (unsigned i = 0; i < BREAKS_WATCHES && !c; i++)
		if (t->breaks.watch[i].addr == stop->addr)
			c = watch_conditions_find(t->breaks.watch_conditions, &t->breaks.watch[i]);
	if (c)
		trace_read(cursor_memory(t), c->addr, c->other, c->len, &ignored);
}

/*
 * The cursor stands at a stop of the segment. Backwards, a watchpoint stops before the instruction that changes the
 * word.
 */
static int at_stop(struct cursor *t, struct stop *stop, struct err *e)
{
	struct stop back;

	t->tid = t->in.seg.tid;
	cursor_see_signal(t, stop);
	breaks_look(&t->breaks, cursor_memory(t), &t->at_stop);
	if (stop->kind == STOP_WATCH && !stop->before)
		note_after(t, stop);
	return stop->kind == STOP_WATCH && !stop->before ? cursor_back_step_few(t, t->tid, &back, e) : 0;
}

/* Goes to the k-th stop of the segment. */
static int to_stop(struct cursor *t, uint64_t k, struct stop *stop, struct err *e)
{
	int r = t->ops->nth_stop(&t->in, &t->breaks, k, stop, e);

	if (r > 0)
		return err_set(e, ERR_INTERNAL, "stop %llu after event %llu could not be reached again",
			       (unsigned long long)k, (unsigned long long)t->in.n);
	return r ? r : at_stop(t, stop, e);
}

/* In the segment that has the last stop: goes to that stop. */
static int to_last(struct cursor *t, const struct cursor_last *last, struct stop *stop, struct err *e)
{
	int r;

	if (!last->many)
		return to_stop(t, last->k, stop, e);
	r = t->ops->last_stop(&t->in, &t->breaks, stop, e);
	if (r > 0)
		return err_set(e, ERR_INTERNAL, "the stops after event %llu could not be reached again",
			       (unsigned long long)last->event);
	return r ? r : at_stop(t, stop, e);
}

static bool is_over(const struct stop *stop)
{
	return stop->kind == STOP_LIMIT || stop->kind == STOP_END;
}

/* From CURSOR_GROUP up to event `to`. */
static int run_to(struct cursor *t, uint64_t to, struct stop *stop, struct err *e)
{
	int r = t->ops->run(t, 0, to, stop, e);

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

static void note_maybe(void *ctx, uint64_t event)
{
	cursor_maybe(ctx, event);
}

/*
 * Watched words are written very often here: the segments that may have stops from here on are noted for a later walk.
 * *at: the event up to which that is done, at most `to`.
 */
static int leave_hot(struct cursor *t, struct cursor_last *last, uint64_t to, uint64_t *at, struct err *e)
{
	struct segcur_far far = {.to = to, .maybe = note_maybe, .ctx = last};
	uint64_t here = nav_at(t->nav);
	int r = t->ops->may_stop(t, &far, e);

	if (r > 0)
		cursor_maybe(last, here);
	*at = r ? here + 1 : far.at;
	last->patience = last->patience / 2 > WRITES_LEAST ? last->patience / 2 : WRITES_LEAST;
	last->all_writes = 0;
	return r < 0 ? -1 : 0;
}

/* Is the rest of the segment in which it stopped left out of the count? */
static bool is_left(const struct cursor_last *last, const struct stop *stop, uint64_t event)
{
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
		at = nav_at(t->nav) + 1;
		if (stop.kind == STOP_HOT && leave_hot(t, last, to, &at, e))
			return -1;
		r = run_past(t, at, &stop, e);
		if (!r && at < to)
			stop.kind = 0;
	}
	return r;
}

/* The last stop in the segments from event `from` up to event `to`, by going once through all of them. */
static int sweep(struct cursor *t, uint64_t from, uint64_t to, struct cursor_last *last, struct err *e)
{
	uint64_t cuts[CURSOR_CUTS];
	unsigned n;

	if (t->ops->hold(t, from, e))
		return -1;
	n = cursor_cuts(t, from, to, cuts);
	for (unsigned i = 0; i < n; i++)
		if (last_stop(t, cuts[i], last, e) || t->ops->checkpoint(t, e))
			return -1;
	return last_stop(t, to, last, e);
}

static uint64_t piece_before(struct cursor *t, uint64_t to)
{
	uint64_t from, first = nav_first(t->nav);

	return to > first && t->ops->checkpoint_before(t->nav, to - 1, &from) && from > first ? from : first;
}

/*
 * The search was interrupted in the middle of a part, where the program cannot be left. It goes to `to`, at a
 * checkpoint: everything after that was searched.
 */
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

	*all = (struct cursor_last){.all = true, .patience = SEGCUR_WRITES};
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

/*
 * Goes to the last stop of a segment that a sweep has left, since words are written very often there. 1: there is none.
 */
static int last_of_left(struct cursor *t, uint64_t event, struct stop *stop, struct err *e)
{
	if (t->ops->enter_any(t, event, e))
		return -1;
	t->in.walks = true;
	return t->ops->last_stop(&t->in, &t->breaks, stop, e);
}

/*
 * Goes to the last stop of these n segments, which are gone through forwards, since that is the short way. 1: there is
 * none.
 */
static int last_of_part(struct cursor *t, const uint64_t *event, size_t n, struct stop *stop, struct err *e)
{
	size_t last = n;
	int r = 1;

	for (size_t i = 0; i < n; i++) {
		r = last_of_left(t, event[i], stop, e);
		if (r < 0)
			return -1;
		last = r ? last : i;
	}
	if (last == n)
		return 1;
	return r ? last_of_left(t, event[last], stop, e) : 0;
}

/* Goes to the last stop of those that a sweep has met. 1: there is none. */
static int last_swept(struct cursor *t, const struct cursor_last *last, struct stop *stop, struct err *e)
{
	size_t n = last->maybes, part;

	for (size_t next = 1; n; next = next < PART_MAX ? 2 * next : next) {
		int r;

		part = next < n ? next : n;
		r = last_of_part(t, last->maybe + n - part, part, stop, e);
		if (r <= 0)
			return r ? -1 : at_stop(t, stop, e);
		n -= part;
	}
	if (!last->k)
		return 1;
	return t->ops->enter_any(t, last->event, e) || to_last(t, last, stop, e) ? -1 : 0;
}

/*
 * The last stop before event `to`, which is changed to the one up to which there is none (1). A fork that is followed
 * is not crossed: the segment before it is searched by itself.
 */
static int last_before(struct cursor *t, uint64_t *to, struct stop *stop, struct err *e)
{
	struct cursor_last last = {.patience = SEGCUR_WRITES};
	uint64_t from, fork;
	int r;

	if (cursor_fork_before(t, *to, &fork, e))
		return -1;
	from = piece_before(t, *to);
	if (fork == *to) {
		from = fork - 1;
		r = t->ops->enter_any(t, from, e) ? -1 : t->ops->last_stop(&t->in, &t->breaks, stop, e);
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

/* Goes to the last stop in this segment. 1: there is none. */
static int back_inside(struct cursor *t, struct stop *stop, struct err *e)
{
	struct segcur_count count = {0};
	int r = t->ops->go_inside(t, &t->breaks, &count, e);

	t->in.over = t->over;
	if (!r)
		r = count.known ? t->ops->to_counted(&t->in, &t->breaks, &count, stop, e)
				: t->ops->back_to_stop(&t->in, &t->breaks, stop, e);
	segcur_count_fini(&count);
	t->over = t->in.over;
	t->in.over = 0;
	return r;
}

void cursor_know_what_is_walked(struct cursor *t)
{
	const struct segcur all = {.visibility = t->visibility};

	if (t->breaks.watch_conditions)
		t->breaks.watch_conditions->walked = segcur_conditions_walkable(&all, &t->breaks);
}

int cursor_back_over(struct cursor *t, pid_t tid, uint64_t lo, uint64_t hi, uint64_t sp, struct stop *stop,
		     struct err *e)
{
	int r;

	*stop = (struct stop){.kind = STOP_STEP};
	cursor_count_move(t);
	if (t->mode != CURSOR_INSIDE || cursor_now(t, tid) != t->in.seg.tid)
		return 1;
	cursor_know_what_is_walked(t);
	r = t->ops->back_over(&t->in, &t->breaks, lo, hi, sp, e);
	if (r != SEGCUR_CHANGED)
		return r;
	r = back_inside(t, stop, e);
	return r ? r : at_stop(t, stop, e);
}

int cursor_back_continue_few(struct cursor *t, struct stop *stop, struct err *e)
{
	uint64_t to, here;
	int r;

	*stop = (struct stop){0};
	cursor_know_what_is_walked(t);
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
