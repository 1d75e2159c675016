/* SPDX-License-Identifier: MIT */
/*
 * timer_ticks.c: a thread does nothing but wait for the next tick, by select() or by a timer's descriptor, and set a
 * plain variable, as runtime systems do to make other threads give way: these look at it between their calls.
 * NONDET-OUTPUT
 * NOTES: one thread ran at a time
 */
#include "check.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_US 2000
#define TICKS 40

static volatile int tick, over;

/* It may be a while until it waits again. */
static void ticks(void)
{
	static volatile long work;

	tick = 1;
	for (int i = 0; i < 200000; i++)
		work += i;
}

static void *by_select(void *arg)
{
	while (!over) {
		struct timeval wait = {0, TICK_US};

		select(0, NULL, NULL, NULL, &wait);
		ticks();
	}
	return arg;
}

static void *by_timer(void *arg)
{
	struct itimerspec each = {{0, TICK_US * 1000}, {0, TICK_US * 1000}};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t times;

	NEED(fd >= 0 && timerfd_settime(fd, 0, &each, NULL) == 0);
	while (!over) {
		CHECK(read(fd, &times, sizeof(times)) == sizeof(times));
		ticks();
	}
	return arg;
}

static int computes(void *(*ticker)(void *))
{
	volatile long work = 0;
	pthread_t t;

	NEED(pthread_create(&t, NULL, ticker, NULL) == 0);
	for (int seen = 0; seen < TICKS;) {
		for (int i = 0; i < 2000; i++)
			work += i;
		CHECK(getuid() == geteuid());
		if (tick) {
			tick = 0;
			seen++;
			CHECK(getppid() > 0);
		}
	}
	over = 1;
	CHECK(pthread_join(t, NULL) == 0);
	return check_status();
}

static void in_child(void *(*ticker)(void *))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(computes(ticker));
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void)
{
	in_child(by_select);
	in_child(by_timer);
	step("ticks");
	return check_status();
}
