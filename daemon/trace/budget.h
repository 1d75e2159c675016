/* SPDX-License-Identifier: MIT */
/*
 * budget.h: how long something may take that ends with a smaller answer when it is over. What other processes keep the processors
 * for does not count, so that the answer is the same on a busy machine, with and without the right to SCHED_FIFO.
 */
#ifndef FRED_TRACE_BUDGET_H
#define FRED_TRACE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct trace_budget {
	uint64_t ns; /* 0: not begun */
	uint64_t from, until; /* CLOCK_MONOTONIC; `until` moves when it is found that there was waiting */
	pid_t pid;
	uint64_t delay, pid_delay; /* ns that this process and pid had waited for a processor when it began */
};

/* From now on ns of this process and of pid, which take turns. */
void trace_budget_begin(struct trace_budget *b, uint64_t ns, pid_t pid);
/* pid: who takes turns with this process now, if another one, since it was made. True also after BUDGET_TIMES the time, however busy the machine is. */
bool trace_budget_is_over(struct trace_budget *b, pid_t pid);

#endif
