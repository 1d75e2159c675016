/* SPDX-License-Identifier: MIT */
/* next_segment.c: see next_segment.h. */
#include "timetravel/next_segment.h"

#define END_MAX 4096 /* events that are examined, at most */

static bool is_known(struct next_segment *a, uint64_t total, uint32_t who, uint64_t from)
{
	if (a->who != who || a->total != total || from < a->from)
		return false;
	if (!a->soft && from > a->n && from < a->end)
		a->from = a->n = from;
	return from <= a->n;
}

static int look(struct next_segment *a, struct timeline_walk *w, struct err *e)
{
	struct timeline_event ev;
	bool found = false;

	for (uint64_t n = a->from; n < a->total && (!found || n - a->n < END_MAX); n++) {
		int r = timeline_walk_next(w, &ev, e);
		bool mine = r > 0 && ev.where.thread == a->who, soft = r > 0 && ev.ev.rec.kind == RLOG_PREEMPT;

		if (r <= 0)
			return r;
		if (!found && mine) {
			a->n = n;
			a->soft = soft;
		} else if (found && (!mine || soft)) {
			return 0;
		}
		found |= mine;
		if (found)
			a->end = n + 1;
		if (a->soft)
			return 0;
	}
	return 0;
}

int next_segment_find(struct next_segment *a, struct timeline *tl, uint64_t total, uint32_t who, uint64_t from,
		      struct err *e)
{
	struct timeline_walk w;
	int r;

	if (is_known(a, total, who, from))
		return 0;
	*a = (struct next_segment){.who = who, .from = from, .total = total, .n = total, .end = total};
	if (from >= total)
		return 0;
	if (timeline_walk_init(&w, tl, from + 1, e))
		return -1;
	r = look(a, &w, e);
	timeline_walk_fini(&w);
	if (r)
		a->who = 0;
	return r;
}
