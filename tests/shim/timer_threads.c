/* SPDX-License-Identifier: MIT */
/*
 * timer_threads.c: threads that libc makes for itself, some at a time, for timers: it takes stacks for them that others have left.
 * Which ones is shown, so that a replay compares them.
 * RECORD: --sched serial
 * NONDET-OUTPUT
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#define TIMERS 4
#define ROUNDS 25

static int nowhere;
static sem_t done;

static void on_timer(union sigval v)
{
	unsigned long here[2] = {(unsigned long)&v, (unsigned long)v.sival_int};

	CHECK(write(nowhere, here, sizeof(here)) == sizeof(here));
	CHECK(sem_post(&done) == 0);
}

int main(void)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer};
	timer_t timer[TIMERS];

	nowhere = open("/dev/null", O_WRONLY);
	NEED(nowhere >= 0 && sem_init(&done, 0, 0) == 0);
	for (int i = 0; i < TIMERS; i++) {
		ev.sigev_value.sival_int = i;
		NEED(timer_create(CLOCK_MONOTONIC, &ev, &timer[i]) == 0);
	}
	for (int r = 0; r < ROUNDS; r++) {
		for (int i = 0; i < TIMERS; i++) {
			struct itimerspec soon = {.it_value = {0, 100000 + 50000 * i}};

			CHECK(timer_settime(timer[i], 0, &soon, NULL) == 0);
		}
		for (int i = 0; i < TIMERS; i++)
			while (sem_wait(&done))
				CHECK(errno == EINTR);
	}
	for (int i = 0; i < TIMERS; i++)
		CHECK(timer_delete(timer[i]) == 0);
	step("timer threads");
	return check_status();
}
