/* SPDX-License-Identifier: MIT */
/* test_stuck.c: a process that waits for something that never comes is stuck; one that only gets no processor is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/stuck.h"

#define LOOK_S 6 /* twice what it takes */

static pid_t start(void (*fn)(void))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	fn();
	_exit(0);
}

static void sleeps(void)
{
	pause();
}

static void computes(void)
{
	for (;;)
		;
}

/* Looks until it is stuck, or for the time. */
static bool is_stuck(struct target *t, struct err *e)
{
	double end = clock_s() + LOOK_S;
	const struct timespec tick = {.tv_nsec = 20000000};
	struct stuck s = {0};

	while (clock_s() < end) {
		if (stuck_look(&s, t, e))
			return true;
		nanosleep(&tick, NULL);
	}
	return false;
}

static void end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

static void who_waits_is_stuck(void **state)
{
	static struct replay_ctl ctl = {.turn = 41, .owner = 2};
	struct target t = {.ctl = &ctl, .pid = start(sleeps), .slow_s = 1000};
	struct err e = {0};

	assert_true(is_stuck(&t, &e));
	end(t.pid);
	assert_int_equal(e.kind, ERR_INTERNAL);
	assert_non_null(strstr(e.text, "event 42 of thread 2 does not come: all threads wait"));
}

/* As on a machine where nothing is left for it. */
static void who_gets_no_processor_is_not(void **state)
{
	static struct replay_ctl ctl = {.turn = 41, .owner = 2};
	struct target t = {.ctl = &ctl, .pid = start(computes), .slow_s = 0.1};
	struct err e = {0};

	kill(t.pid, SIGSTOP);
	assert_false(is_stuck(&t, &e));
	end(t.pid);
}

static void who_computes_is_not(void **state)
{
	static struct replay_ctl ctl = {.turn = 41, .owner = 2};
	struct target t = {.ctl = &ctl, .pid = start(computes), .slow_s = 1000};
	struct err e = {0};

	assert_false(is_stuck(&t, &e));
	end(t.pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_is_stuck),
		cmocka_unit_test(who_gets_no_processor_is_not),
		cmocka_unit_test(who_computes_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
