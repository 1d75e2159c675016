/* SPDX-License-Identifier: MIT */
/*
 * test_wait.c: cell_wait_notify sees the word and the child's death, in any order, without
 * polling.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cell/wait.h"

static uint32_t *page;

static void bump(uint32_t *word)
{
	__atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, word, FUTEX_WAKE, 1, 0, 0, 0);
}

static int setup(void **state)
{
	struct err e;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return page == MAP_FAILED || cell_wait_setup(&e);
}

static void wait_for(uint32_t *word, uint32_t value)
{
	while (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value)
		syscall(SYS_futex, word, FUTEX_WAIT, value - 1, NULL, 0, 0);
}

static void test_changed_already(void **state)
{
	int status;

	page[0] = 5;
	assert_int_equal(cell_wait_notify(page, 4, getpid(), -1, &status), CELL_WAIT_NOTIFIED);
}

/* A child answers each step, thousands of times: a lost wake-up would hang, and time out. */
static void test_ping_pong(void **state)
{
	enum { ROUNDS = 20000 };
	int status;
	pid_t pid;

	page[0] = page[1] = 0;
	pid = fork();
	if (!pid) {
		for (uint32_t i = 1; i <= ROUNDS; i++) {
			wait_for(&page[1], i);
			bump(&page[0]);
		}
		_exit(7);
	}
	for (uint32_t i = 0; i < ROUNDS; i++) {
		bump(&page[1]);
		assert_int_equal(cell_wait_notify(page, i, pid, 10000, &status), CELL_WAIT_NOTIFIED);
	}
	assert_int_equal(cell_wait_notify(page, ROUNDS, pid, 10000, &status), CELL_WAIT_ENDED);
	assert_int_equal(WEXITSTATUS(status), 7);
}

/* Deaths at all moments around the call. */
static void test_deaths(void **state)
{
	int status;

	for (int i = 0; i < 500; i++) {
		pid_t pid = fork();

		if (!pid) {
			for (volatile int spin = 0; spin < i * 50; spin++)
				;
			_exit(i & 63);
		}
		page[0] = 0;
		assert_int_equal(cell_wait_notify(page, 0, pid, 10000, &status), CELL_WAIT_ENDED);
		assert_int_equal(WEXITSTATUS(status), i & 63);
	}
}

static void test_word_wins(void **state)
{
	siginfo_t si;
	int status;
	pid_t pid;

	page[0] = 0;
	pid = fork();
	if (!pid) {
		bump(page);
		raise(SIGKILL);
	}
	assert_int_equal(waitid(P_PID, pid, &si, WEXITED | WNOWAIT), 0);
	assert_int_equal(cell_wait_notify(page, 0, pid, 10000, &status), CELL_WAIT_NOTIFIED);
	assert_int_equal(cell_wait_notify(page, 1, pid, 10000, &status), CELL_WAIT_ENDED);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void test_stop(void **state)
{
	int status;
	pid_t pid;

	page[0] = 0;
	pid = fork();
	if (!pid) {
		raise(SIGSTOP);
		bump(page);
		_exit(0);
	}
	assert_int_equal(cell_wait_notify(page, 0, pid, 10000, &status), CELL_WAIT_STOPPED);
	assert_int_equal(WSTOPSIG(status), SIGSTOP);
	kill(pid, SIGCONT);
	assert_int_equal(cell_wait_notify(page, 0, pid, 10000, &status), CELL_WAIT_NOTIFIED);
	assert_int_equal(cell_wait_notify(page, 1, pid, 10000, &status), CELL_WAIT_ENDED);
}

/* Another child's death does not end the wait, and the wait burns no CPU. */
static void test_timeout(void **state)
{
	struct rusage a, b;
	pid_t target = fork(), other;
	struct timespec t0, t1;
	int status;
	long us;

	if (!target)
		for (;;)
			pause();
	other = fork();
	if (!other)
		_exit(0);
	page[0] = 0;
	clock_gettime(CLOCK_MONOTONIC, &t0);
	getrusage(RUSAGE_SELF, &a);
	assert_int_equal(cell_wait_notify(page, 0, target, 200, &status), CELL_WAIT_TIMEOUT);
	getrusage(RUSAGE_SELF, &b);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	us = (t1.tv_sec - t0.tv_sec) * 1000000 + (t1.tv_nsec - t0.tv_nsec) / 1000;
	assert_true(us >= 200000);
	us = (b.ru_utime.tv_sec - a.ru_utime.tv_sec) * 1000000 + b.ru_utime.tv_usec -
	     a.ru_utime.tv_usec + (b.ru_stime.tv_sec - a.ru_stime.tv_sec) * 1000000 +
	     b.ru_stime.tv_usec - a.ru_stime.tv_usec;
	assert_true(us < 50000);
	assert_int_equal(waitpid(other, &status, 0), other);
	kill(target, SIGKILL);
	assert_int_equal(waitpid(target, &status, 0), target);
}

static void test_no_such_child(void **state)
{
	int status;

	page[0] = 0;
	assert_int_equal(cell_wait_notify(page, 0, getpid(), 1000, &status), CELL_WAIT_ERROR);
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changed_already), cmocka_unit_test(test_ping_pong),
		cmocka_unit_test(test_deaths),		cmocka_unit_test(test_word_wins),
		cmocka_unit_test(test_stop),		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_no_such_child),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
