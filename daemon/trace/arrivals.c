/* SPDX-License-Identifier: MIT */
/* arrivals.c: see arrivals.h. */
#include "trace/arrivals.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRAP_PERF_ 6 /* siginfo.h of older libcs does not have it */

static int open_one(pid_t tid, uint64_t pc, uint64_t nth)
{
	struct perf_event_attr a = {
		.size = sizeof(a),
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = pc,
		.bp_len = sizeof(long),
		.sample_period = nth,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.sigtrap = nth != 0,
		.remove_on_exec = nth != 0,
	};

	return (int)syscall(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int arrivals_open(struct arrivals *a, const struct trace *t, const uint64_t *pc, unsigned n, uint64_t nth)
{
	memset(a, 0, sizeof(*a));
	for (; a->n < n; a->n++) {
		a->fd[a->n] = open_one(t->tid, pc[a->n], nth);
		if (a->fd[a->n] < 0) {
			arrivals_close(a);
			return 1;
		}
	}
	return 0;
}

void arrivals_close(struct arrivals *a)
{
	while (a->n)
		close(a->fd[--a->n]);
}

int arrivals_read(const struct arrivals *a, unsigned i, uint64_t *count, struct err *e)
{
	if (read(a->fd[i], count, sizeof(*count)) != sizeof(*count))
		return err_errno(e, ERR_HOST, "read the count of a breakpoint");
	return 0;
}

bool arrivals_is_stop(const struct trace_stop *s)
{
	return s->why == TRACE_SIGNAL && s->info.si_signo == SIGTRAP && s->info.si_code == TRAP_PERF_;
}
