/* SPDX-License-Identifier: MIT */
/* test_budget.c: a budget is over when it is used up, not when others have used the processor. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "trace/budget.h"

#define NS 100000000u /* 0.1 s */
#define OTHERS 6

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static void busy_processor(void **state)
{
	struct trace_budget b;
	pid_t other[OTHERS];
	uint64_t from, took;

	(void)state;
	pin(sched_getcpu());
	for (unsigned i = 0; i < OTHERS; i++) {
		other[i] = fork();
		assert_true(other[i] >= 0);
		if (!other[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				;
		}
	}
	from = clock_ns();
	trace_budget_begin(&b, NS, other[0]);
	while (!trace_budget_is_over(&b, getpid()))
		;
	took = clock_ns() - from;
	for (unsigned i = 0; i < OTHERS; i++) {
		kill(other[i], SIGKILL);
		waitpid(other[i], NULL, 0);
	}
	assert_true(took > 2ull * NS); /* it had a seventh of the processor */
}

static void over_at_last(void **state)
{
	struct trace_budget b;
	uint64_t from = clock_ns();

	(void)state;
	trace_budget_begin(&b, NS / 100, getpid());
	assert_in_range(trace_budget_left(&b, getpid()), 0, NS / 100);
	while (!trace_budget_is_over(&b, getpid()))
		;
	assert_true(trace_budget_left(&b, getpid()) < NS / 100);
	assert_true(clock_ns() - from >= NS / 100);
}

static void counted_work(void **state)
{
	struct trace_budget b;

	(void)state;
	trace_budget_begin_work(&b, 3600ull * 1000000000u, getpid());
	trace_budget_spend(&b, 1600ull * 1000000000u);
	assert_false(trace_budget_is_over(&b, getpid()));
	assert_true(trace_budget_left(&b, getpid()) == 2000ull * 1000000000u);
	trace_budget_spend(&b, 2000ull * 1000000000u);
	assert_true(trace_budget_is_over(&b, getpid()));
	assert_int_equal(trace_budget_left(&b, getpid()), 0);
}

static void work_without_end(void **state)
{
	struct trace_budget b;

	(void)state;
	trace_budget_begin_work(&b, NS / 100, getpid());
	while (!trace_budget_is_over(&b, getpid()))
		;
	assert_int_equal(trace_budget_left(&b, getpid()), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(busy_processor),
		cmocka_unit_test(over_at_last),
		cmocka_unit_test(counted_work),
		cmocka_unit_test(work_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
