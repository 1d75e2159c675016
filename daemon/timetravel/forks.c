/* SPDX-License-Identifier: MIT */
/*
 * forks.c: events at which the replayed process becomes its child (rlog/replay.h, `follow`). A tracer cannot follow it
 * there. So all threads are held only up to the event before the fork; copies go through the segment that ends with the
 * fork, and the process alone goes over the fork.
 */
#include "timetravel/cursor_int.h"

static int process_at(struct cursor *t, uint64_t event, uint32_t *process, struct err *e)
{
	struct timeline_where w;

	if (timeline_find(t->nav->t.tl, event, &w, e))
		return -1;
	*process = w.process;
	return 0;
}

/* The last event from `lo` to `hi` that is of the same process as event `lo`. */
static int last_of_process(struct cursor *t, uint64_t lo, uint64_t hi, uint64_t *last, struct err *e)
{
	uint32_t first, at;

	if (process_at(t, lo, &first, e))
		return -1;
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo + 1) / 2;

		if (process_at(t, mid, &at, e))
			return -1;
		if (at == first)
			lo = mid;
		else
			hi = mid - 1;
	}
	*last = lo;
	return 0;
}

int cursor_next_fork(struct cursor *t, uint64_t from, uint64_t *fork, struct err *e)
{
	uint64_t prefix = timeline_prefix(t->nav->t.tl);

	*fork = 0;
	return from < prefix && prefix > timeline_base(t->nav->t.tl) ? last_of_process(t, from + 1, prefix, fork, e)
								     : 0;
}

int cursor_fork_before(struct cursor *t, uint64_t to, uint64_t *fork, struct err *e)
{
	uint64_t next, at = nav_first(t->nav);

	*fork = 0;
	do {
		if (cursor_next_fork(t, at, &next, e))
			return -1;
		if (next && next <= to)
			*fork = at = next;
	} while (next && next <= to);
	return 0;
}

int cursor_cross(struct cursor *t, pid_t *step, struct err *e)
{
	pid_t pid = t->nav->t.pid, tid = t->in.seg.tid;

	if (t->ops->hold(t, t->in.n + 1, e))
		return -1;
	if (t->nav->t.pid != pid && *step == tid)
		*step = t->tid;
	return 0;
}

int cursor_run_fork(struct cursor *t, uint64_t fork, pid_t *step, struct stop *stop, struct err *e)
{
	int r;

	if (t->ops->enter_any(t, fork - 1, e))
		return -1;
	*stop = (struct stop){.kind = STOP_STEP};
	if (*step == t->in.seg.tid && t->in.marks)
		return 0;
	r = t->ops->nth_stop(&t->in, &t->breaks, 1, stop, e);
	return r > 0 && cursor_cross(t, step, e) ? -1 : r;
}
