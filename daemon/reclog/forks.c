/* SPDX-License-Identifier: MIT */
/* forks.c: where a parent's timeline ends for a child. */
#include "reclog/timeline_priv.h"

struct fork_search {
	uint32_t child;
	struct tl_limit named; /* the FORK whose result names the child */
	struct tl_limit open; /* the FORK without a result, if there is exactly one */
	unsigned opens;
};

static int fork_search_thread(struct fork_search *s, const struct tl_thread *t, struct err *e)
{
	struct reader_iter it = reader_begin(t->log);
	struct tl_limit at = {0};
	enum rlog_read got;
	struct rlog_rec rec;

	while ((got = reader_next_record(&it, &rec)) == RLOG_READ_OK) {
		if (rec.kind == RLOG_FORK) {
			at = (struct tl_limit){true, false, t->ordinal, it.index, it.stamp};
		} else if (rec.kind == RLOG_FORKED && at.set) {
			if (rec.op[1] == s->child && (int64_t)rec.op[0] >= 0) {
				s->named = at;
				return 0;
			}
			at.set = false;
		}
	}
	if (got == RLOG_READ_BAD)
		return reader_explain(&it, e);
	if (at.set) {
		s->open = at;
		s->opens++;
	}
	return 0;
}

/*
 * Finds where a parent's timeline ends for a child. If the parent was killed before it could write the fork's result,
 * the child's FORK is its only one without a result.
 */
int tl_find_fork(const struct tl_part *parent, uint32_t child, struct tl_limit *out, struct err *e)
{
	struct fork_search s = {.child = child};

	for (unsigned i = 0; i < parent->nthreads && !s.named.set; i++)
		if (fork_search_thread(&s, &parent->threads[i], e))
			return -1;
	if (s.named.set)
		*out = s.named;
	else if (s.opens == 1)
		*out = s.open;
	else
		return err_set(e, ERR_USAGE,
			       "damaged recording: process %u was forked by process %u, but the logs of that process "
			       "contain no such fork",
			       child, parent->process);
	return 0;
}
