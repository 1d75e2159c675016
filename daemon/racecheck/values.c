/* SPDX-License-Identifier: MIT */
/* values.c: see values.h. */
#include "racecheck/values.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "replay/segment.h"

#define BYTES 64u /* bytes that are compared, at most */
#define HITS_MAX 20000u /* each stop takes some ten microseconds */
#define FINDINGS_MAX 100u

/* A write, and what it did. */
struct attempt {
	struct race *f;
	const struct race_end *end;
	bool done;
	uint8_t before[BYTES], after[BYTES];
};

static size_t bytes_of(const struct race *f)
{
	return f->len < BYTES ? (size_t)f->len : BYTES;
}

static int at_write(struct attempt *j, struct segment *s, struct err *e)
{
	size_t n = bytes_of(j->f);
	struct trace_stop stop;
	struct err ignored;

	/* not found again: this is no failure of the search for races */
	if (segment_run_to(s, j->end->at.pc, j->end->at.hits, &ignored))
		return 0;
	if (trace_read(s->held.pid, j->f->addr, j->before, n, e) || trace_clear_all(&s->held, e) ||
	    trace_step(&s->held, 0, &stop, e) || trace_read(s->held.pid, j->f->addr, j->after, n, e))
		return -1;
	j->done = true;
	return 0;
}

static int in_copy(struct attempt *j, struct segment *held, struct err *e)
{
	struct segment s = *held;
	int r;

	if (trace_fork(&held->held, held->gadget, &s.held, e))
		return -1;
	r = trace_unshare_memory(&s.held, s.gadget, e) || at_write(j, &s, e) ? -1 : 0;
	trace_kill(&s.held);
	return r;
}

static int run(struct attempt *j, struct nav *nav, struct err *e)
{
	struct segment s;
	struct err why;
	int r;

	if (nav_goto(nav, j->end->at.event, e))
		return -1;
	if (segment_begin(&s, &nav->t, j->end->at.event, e)) {
		segment_end(&s, &why);
		return -1;
	}
	r = in_copy(j, &s, e);
	return segment_cancel(&s, r ? &why : e) ? -1 : r;
}

static bool can_run(const struct race_end *x)
{
	return x->writes && x->kind == RACE_INSN && x->at.pc == x->pc && x->at.hits <= HITS_MAX;
}

static void judge(struct race *f, const struct attempt *earlier, const struct attempt *later)
{
	size_t n = bytes_of(f);
	const struct attempt *w = earlier ? earlier : later;

	if ((f->earlier.writes && !(earlier && earlier->done)) || (f->later.writes && !(later && later->done)))
		f->changes = RACE_CANNOT_SAY;
	else if (f->earlier.writes && f->later.writes)
		f->changes = memcmp(earlier->after, later->after, n) ? RACE_CHANGES : RACE_CHANGES_NOT;
	else
		f->changes = memcmp(w->before, w->after, n) ? RACE_CHANGES : RACE_CHANGES_NOT;
}

static int by_event(const void *a, const void *b)
{
	const struct attempt *const *x = a, *const *y = b;

	return ((*x)->end->at.event > (*y)->end->at.event) - ((*x)->end->at.event < (*y)->end->at.event);
}

int values_compare(struct racecheck *r, struct nav *nav, struct err *e)
{
	size_t most = r->n < FINDINGS_MAX ? r->n : FINDINGS_MAX, n = 0;
	struct attempt *jobs = xcalloc(most * 2 + 1, sizeof(*jobs)),
		       **order = xcalloc(most * 2 + 1, sizeof(struct attempt *));
	int ret = 0;

	for (size_t k = 0; k < most; k++) {
		jobs[2 * k] = (struct attempt){.f = &r->v[k], .end = &r->v[k].earlier};
		jobs[2 * k + 1] = (struct attempt){.f = &r->v[k], .end = &r->v[k].later};
		for (size_t i = 2 * k; i < 2 * k + 2; i++)
			if (can_run(jobs[i].end))
				order[n++] = &jobs[i];
	}
	qsort(order, n, sizeof(*order), by_event);
	for (size_t k = 0; k < n && !ret; k++)
		ret = run(order[k], nav, e);
	for (size_t k = 0; k < most && !ret; k++)
		judge(&r->v[k], &jobs[2 * k], &jobs[2 * k + 1]);
	free(order);
	free(jobs);
	return ret;
}
