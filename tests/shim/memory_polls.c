/* SPDX-License-Identifier: MIT */
/*
 * memory_polls.c: a thread that sleeps, looks at a plain variable, and sleeps again, until another thread has changed it, which then
 * computes for long: between their calls nothing orders the two.
 * NONDET-OUTPUT
 * NOTES: one thread ran at a time
 */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

#define COMPUTE 20000000

static int stop;
static long looks, computed;

static void *poller(void *arg)
{
	while (!*(volatile int *)&stop) {
		looks++;
		usleep(1000);
	}
	return arg;
}

int main(void)
{
	pthread_t t;

	NEED(pthread_create(&t, NULL, poller, NULL) == 0);
	usleep(30000);
	*(volatile int *)&stop = 1;
	for (volatile int i = 0; i < COMPUTE; i++)
		computed += looks;
	CHECK(pthread_join(t, NULL) == 0);
	CHECK(computed >= 0);
	printf("# %ld looks, %ld\n", looks, computed);
	step("a variable that is polled between sleeps");
	return check_status();
}
