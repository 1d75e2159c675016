/* SPDX-License-Identifier: MIT */
/* parallel.c: see parallel.h. */
#define LOG_DOMAIN "parallel"
#include "replay/parallel.h"

#include <sched.h>
#include <unistd.h>

#include "base/log.h"

#define STUCK_S 0.5 /* seconds of CPU time without progress; a linear replay follows */

static bool is_switch(const struct reader_event *ev)
{
	return ev->rec.kind == RLOG_CALL && ev->rec.op[0] == RLOG_CALL_SERIAL;
}

/*
 * The event at which the recorder began to let one thread run at a time; the end, if it never did. 0: the logs are
 * damaged.
 */
static uint64_t find_switch(struct target *t)
{
	uint64_t at = timeline_total(t->tl);
	struct timeline_event ev;
	struct timeline_walk w;
	struct err why;
	int got;

	if (!t->rec->control.went_serial)
		return at;
	if (timeline_walk_init(&w, t->tl, 1, &why))
		return 0;
	while ((got = timeline_walk_next(&w, &ev, &why)) == 1)
		if (is_switch(&ev.ev)) {
			at = ev.where.number;
			break;
		}
	timeline_walk_fini(&w);
	return got < 0 ? 0 : at;
}

/* Does the image have more than one thread up to the bound? */
static bool several(const struct timeline *tl, uint64_t bound)
{
	uint64_t n, before = 0, prefix = timeline_prefix(tl);
	const struct replay_slot *runs = timeline_runs(tl, &n);
	uint32_t first = 0;

	for (uint64_t i = 0; i < n && before < bound; before += runs[i++].count) {
		if (before < prefix)
			continue;
		if (first && runs[i].thread != first)
			return true;
		first = runs[i].thread;
	}
	return false;
}

static bool has_cores(void)
{
	cpu_set_t set;

	return !sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) > 1;
}

uint64_t parallel_bound(struct target *t)
{
	uint64_t bound;

	if (t->rec->control.sched != RLOG_SCHED_PARALLEL || !has_cores())
		return 0;
	if (timeline_base(t->tl)) /* a replay from a checkpoint */
		return 0;
	bound = find_switch(t);
	return several(t->tl, bound) ? bound : 0;
}

/* A thread stops after its last slot that begins before the bound, as in a linear replay. */
static void fill(struct replay_ctl *c, const struct timeline *tl, uint64_t bound)
{
	uint64_t n, before = 0, prefix = timeline_prefix(tl);
	const struct replay_slot *runs = timeline_runs(tl, &n);

	for (uint64_t i = 0; i < n && before < bound; before += runs[i++].count) {
		if (before < prefix)
			continue;
		if (before == prefix)
			c->ahead_from = i;
		c->ahead_end[runs[i].thread] = (uint32_t)i + 1;
	}
	c->ahead_until = bound;
}

void parallel_begin(struct target *t, uint64_t bound)
{
	cpu_set_t set;

	fill(t->ctl, t->tl, bound);
	t->slow_s = STUCK_S;
	if (!sched_getaffinity(0, sizeof(set), &set))
		sched_setaffinity(t->pid, sizeof(set), &set);
	log_debug("process %u: in parallel up to event %llu of %llu", t->process, (unsigned long long)bound,
		  (unsigned long long)t->ctl->total);
}

void parallel_end(struct target *t)
{
	target_kill(t);
	t->slow_s = TARGET_SLOW_S;
	t->stalls = 0;
}
