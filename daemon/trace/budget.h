/* SPDX-License-Identifier: MIT */
/*
 * budget.h: a time limit for work whose answer is less complete when the limit is reached. Time spent
 * waiting for a processor does not count, so that the answer is the same on a busy machine, with and
 * without SCHED_FIFO.
 */
#ifndef FRED_TRACE_BUDGET_H
#define FRED_TRACE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct trace_budget {
	uint64_t ns; /* 0: not begun */
	uint64_t from, until; /* CLOCK_MONOTONIC; `until` moves by the time spent waiting for a processor */
	pid_t pid;
	uint64_t delay, pid_delay; /* ns that this process and pid had waited for a processor at the beginning */
	uint64_t work_ns, spent_ns; /* of work that is counted: the limit, 0 if there is none; what was spent */
};

/* Starts a budget of ns nanoseconds, used by this process and by pid, which run alternately. */
void trace_budget_begin(struct trace_budget *b, uint64_t ns, pid_t pid);
/*
 * The same for work that the caller counts (trace_budget_spend): it is over after the same work each time, however
 * fast the machine is just now. Only work that takes BUDGET_WORK_TIMES as long as it is counted for, or is not counted,
 * is ended by time.
 */
void trace_budget_begin_work(struct trace_budget *b, uint64_t ns, pid_t pid);
/* Work was done for which ns are counted: about what it takes on an idle machine. */
void trace_budget_spend(struct trace_budget *b, uint64_t ns);
/*
 * pid: the process that alternates with this one now; if it is a new one, its whole life counts. Always true after
 * BUDGET_TIMES the budget in wall time.
 */
bool trace_budget_is_over(struct trace_budget *b, pid_t pid);
/* How many ns are left, of work if it is counted; 0: it is over. pid: as above. */
uint64_t trace_budget_left(struct trace_budget *b, pid_t pid);

#endif
