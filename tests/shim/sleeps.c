/* SPDX-License-Identifier: MIT */
/* sleeps.c: all ways to sleep, to their end and interrupted by a signal. */
#include "check.h"

#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>

static volatile sig_atomic_t ticks;

static long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void on_alarm(int sig)
{
	(void)sig;
	ticks++;
}

/* Again and again: on a busy machine the first may come before the program sleeps. */
static void arm(long us)
{
	struct itimerval often = {{0, us}, {0, us}};

	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
}

static void test_full(void)
{
	struct timespec ms3 = {0, 3000000}, until;
	long start = now_us();

	CHECK(nanosleep(&ms3, NULL) == 0);
	CHECK(now_us() - start >= 3000);
	start = now_us();
	CHECK(usleep(2000) == 0);
	CHECK(now_us() - start >= 2000);
	start = now_us();
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &ms3, NULL) == 0);
	CHECK(now_us() - start >= 3000);
	clock_gettime(CLOCK_MONOTONIC, &until);
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
	CHECK(clock_nanosleep(CLOCK_REALTIME, 0, &(struct timespec){0, 1000000000}, NULL) == EINVAL);
	CHECK(poll(NULL, 0, 2) == 0);
	CHECK(select(0, NULL, NULL, NULL, &(struct timeval){0, 2000}) == 0);
	CHECK(sleep(0) == 0);
	CHECK(sleep(1) == 0);
	step("to the end");
}

static void test_interrupted(void)
{
	struct sigaction sa = {.sa_handler = on_alarm};
	struct timespec left, second = {20, 0};

	sigaction(SIGALRM, &sa, NULL);
	arm(3000);
	CHECK(nanosleep(&second, &left) == -1 && errno == EINTR);
	CHECK(left.tv_sec <= 20 && left.tv_sec >= 5);
	arm(3000);
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &second, &left) == EINTR);
	arm(3000);
	CHECK(usleep(20000000) == -1 && errno == EINTR);
	arm(3000);
	CHECK(sleep(20) >= 5);
	arm(3000);
	CHECK(poll(NULL, 0, 20000) == -1 && errno == EINTR);
	arm(3000);
	CHECK(pause() == -1 && errno == EINTR);
	arm(0);
	CHECK(ticks >= 6);
	step("interrupted");
}

int main(void)
{
	test_full();
	test_interrupted();
	return check_status();
}
