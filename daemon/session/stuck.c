/* SPDX-License-Identifier: MIT */
/* stuck.c: see stuck.h. */
#include "session/stuck.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/maps.h"
#include "trace/trace.h"

#define LOOK_EVERY_S 0.1
#define ASLEEP_LOOKS 30u
#define TIMES_RECORDED 10 /* the processor time of a segment: while it is traced, its pages come anew */

void stuck_reset(struct stuck *s)
{
	*s = (struct stuck){0};
}

/* Does every thread sleep in a call of the kernel that waits? */
static bool all_sleep(pid_t pid)
{
	char path[300];
	struct dirent *d;
	bool all = true;
	cleanup_closedir DIR *dir = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && all && (d = readdir(dir))) {
		char state;

		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", (int)pid, d->d_name);
		state = maps_state(path);
		all = state == 'S' || state == 'Z' || !state;
	}
	return dir && all;
}

static double seconds_of(const struct target *t, uint64_t event)
{
	struct timeline_event ev;
	struct err ignored;

	return event && !timeline_read(t->tl, event, &ev, &ignored) ? ev.seconds : -1;
}

/*
 * How long the thread that does the next event took to get there when it was recorded: since its last event that was stamped before.
 * What other threads did meanwhile is no part of it, where one moves at a time.
 */
static double recorded_s(const struct target *t)
{
	double to = seconds_of(t, t->ctl->turn + 1), from = 0;
	struct timeline_where w;
	struct err ignored;

	if (to < 0)
		to = seconds_of(t, target_total(t));
	if (to < 0 || timeline_find(t->tl, t->ctl->turn + 1, &w, &ignored))
		return to < 0 ? 0 : to;
	for (uint64_t i = w.index; i > 0; i--) {
		uint64_t before = timeline_number(t->tl, w.process, w.thread, i - 1);

		from = before ? seconds_of(t, before) : 0;
		if (from < to)
			break;
	}
	return from > 0 && from < to ? to - from : to;
}

static bool says(const struct target *t, const char *why, struct err *e)
{
	err_set(e, ERR_INTERNAL,
		"the replay diverged: event %llu of thread %u does not come: %s (a spin-wait or a lock that is held?); record with "
		"--sched serial",
		(unsigned long long)t->ctl->turn + 1, t->ctl->owner, why);
	return true;
}

static void begin(struct stuck *s, const struct target *t, uint64_t cpu_ns, double now)
{
	*s = (struct stuck){.begun = true, .turn = t->ctl->turn, .cpu_ns = cpu_ns, .looked = now};
}

bool stuck_look(struct stuck *s, const struct target *t, struct err *e)
{
	double now = clock_s(), used_s;
	struct err ignored;
	uint64_t cpu_ns;

	if (s->begun && now - s->looked < LOOK_EVERY_S)
		return false;
	if (!t->pid || trace_cpu_ns(t->pid, &cpu_ns, &ignored))
		return false;
	if (!s->begun || s->turn != t->ctl->turn || cpu_ns < s->cpu_ns) {
		begin(s, t, cpu_ns, now);
		return false;
	}
	s->looked = now;
	s->asleep = all_sleep(t->pid) ? s->asleep + 1 : 0;
	if (s->asleep >= ASLEEP_LOOKS)
		return says(t, "all threads wait", e);
	used_s = (double)(cpu_ns - s->cpu_ns) / 1e9;
	if (used_s < t->slow_s)
		return false;
	if (!s->limit_s)
		s->limit_s = t->slow_s + TIMES_RECORDED * recorded_s(t);
	return used_s >= s->limit_s && says(t, "it computes far longer than when it was recorded", e);
}
