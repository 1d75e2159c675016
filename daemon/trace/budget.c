/* SPDX-License-Identifier: MIT */
/* budget.c: see budget.h. How long threads have waited: the kernel's Documentation/scheduler/sched-stats.rst. */
#include "trace/budget.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define BUDGET_TIMES 10
#define BUDGET_WORK_TIMES 4

static uint64_t thread_delay(pid_t pid, const char *tid)
{
	cleanup_fclose FILE *f = NULL;
	char path[300];
	uint64_t ran, waited = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid, tid);
	f = fopen(path, "re");
	return f && fscanf(f, "%" SCNu64 " %" SCNu64, &ran, &waited) == 2 ? waited : 0;
}

/* Of all its threads; 0 where the kernel does not tell. */
static uint64_t process_delay(pid_t pid)
{
	struct dirent *entry;
	uint64_t sum = 0;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			sum += thread_delay(pid, entry->d_name);
	if (d)
		closedir(d);
	return sum;
}

void trace_budget_begin(struct trace_budget *b, uint64_t ns, pid_t pid)
{
	b->ns = ns;
	b->from = clock_ns();
	b->until = b->from + ns;
	b->pid = pid;
	b->delay = process_delay(getpid());
	b->pid_delay = process_delay(pid);
	b->work_ns = b->spent_ns = 0;
}

void trace_budget_begin_work(struct trace_budget *b, uint64_t ns, pid_t pid)
{
	trace_budget_begin(b, ns * BUDGET_WORK_TIMES, pid);
	b->work_ns = ns;
}

void trace_budget_spend(struct trace_budget *b, uint64_t ns)
{
	b->spent_ns += ns;
}

static bool is_spent(const struct trace_budget *b)
{
	return b->work_ns && b->spent_ns >= b->work_ns;
}

static void move_end(struct trace_budget *b, pid_t pid)
{
	uint64_t delay = process_delay(getpid()) - b->delay + process_delay(pid) - (pid == b->pid ? b->pid_delay : 0);
	uint64_t most = b->from + BUDGET_TIMES * b->ns, until = b->from + b->ns + delay;

	b->until = until < most ? until : most;
}

bool trace_budget_is_over(struct trace_budget *b, pid_t pid)
{
	uint64_t now = clock_ns();

	if (is_spent(b))
		return true;
	if (now <= b->until)
		return false;
	move_end(b, pid);
	return now > b->until;
}

uint64_t trace_budget_left(struct trace_budget *b, pid_t pid)
{
	uint64_t now = clock_ns();

	move_end(b, pid);
	if (is_spent(b) || now >= b->until)
		return 0;
	return b->work_ns ? b->work_ns - b->spent_ns : b->until - now;
}
