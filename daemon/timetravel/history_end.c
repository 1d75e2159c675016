/* SPDX-License-Identifier: MIT */
/*
 * history_end.c: a timeline that ends where a live program stands: in the middle of a segment, after its last event.
 * That place is a point like others, an address and how many times the segment comes there (struct history_end). live.c
 * finds it.
 */

#include "timetravel/cursor_int.h"

int cursor_passes(struct cursor *t, uint64_t pc, uint64_t *times, struct err *e)
{
	struct breaks b = {0};
	int r;

	breaks_add(&b, pc, 0);
	r = t->ops->count_stops(&t->in, &b, times, e);
	breaks_fini(&b);
	return r;
}

/* The same at the address of the end; the present state counts if it is there. */
static int count_passed(struct cursor *t, uint64_t *passed, struct err *e)
{
	uint64_t pc;

	if (cursor_pc(t, &pc, e) || cursor_passes(t, t->history_end.at.pc, passed, e))
		return -1;
	*passed += pc == t->history_end.at.pc;
	return 0;
}

int cursor_at_history_end(struct cursor *t, bool *yes, struct err *e)
{
	uint64_t pc, passed = 0;

	if (cursor_pc(t, &pc, e) || (pc == t->history_end.at.pc && count_passed(t, &passed, e)))
		return -1;
	*yes = pc == t->history_end.at.pc && passed >= t->history_end.at.hits;
	return 0;
}

/* Goes to the next stop of the user's, or to the next arrival at the address of the end. */
static int next(struct cursor *t, bool fresh, struct breaks *both, struct stop *stop, struct err *e)
{
	int r = fresh ? t->ops->nth_stop(&t->in, both, 1, stop, e) : t->ops->run_segment(&t->in, both, stop, e);

	if (r > 0 || (!r && stop->kind == STOP_OVER))
		return err_set(e, ERR_INTERNAL,
			       "the state of the live program could not be reached again after event %llu",
			       (unsigned long long)t->history_end.at.event);
	return r;
}

static int run(struct cursor *t, bool fresh, const struct breaks *breaks, struct breaks *both, struct stop *stop,
	       struct err *e)
{
	uint64_t passed = 0, pc;

	if (!fresh && count_passed(t, &passed, e))
		return -1;
	for (; passed < t->history_end.at.hits; fresh = false) {
		if (next(t, fresh, both, stop, e) || cursor_pc(t, &pc, e))
			return -1;
		if (stop->kind != STOP_BREAK)
			return 0;
		passed += pc == t->history_end.at.pc;
		stop->kind = breaks && breaks_has(breaks, pc) ? t->ops->meets(breaks, &t->in.now) : 0;
		if (stop->kind)
			return 0;
	}
	*stop = (struct stop){.kind = STOP_END};
	return 0;
}

int cursor_run_to_history_end(struct cursor *t, bool fresh, const struct breaks *breaks, struct stop *stop,
			      struct err *e)
{
	struct breaks both = {0};
	int r = t->ops->walk_until(&t->in, fresh, breaks, t->history_end.at.pc, t->history_end.at.hits, stop, e);

	if (r > 0) {
		if (breaks)
			breaks_add_all(&both, breaks);
		breaks_add(&both, t->history_end.at.pc, 0);
		r = run(t, fresh, breaks, &both, stop, e);
		breaks_fini(&both);
	}
	if (t->mode == CURSOR_INSIDE)
		t->tid = t->in.seg.tid;
	return r;
}

int cursor_enter_last(struct cursor *t, pid_t step, struct stop *stop, struct err *e)
{
	if (t->ops->enter(t, t->history_end.at.event, e))
		return -1;
	*stop = (struct stop){.kind = STOP_STEP};
	return step == t->in.seg.tid ? 0 : cursor_run_to_history_end(t, true, &t->breaks, stop, e);
}
