/* SPDX-License-Identifier: MIT */
/*
 * memory_flags.c: a thread spins on a volatile variable, and counts, until another one, which has slept, changes that.
 * NONDET-OUTPUT
 * NOTES: one thread ran at a time
 */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

#define COMPUTE 20000000

static volatile int go;
static volatile long turns;

static void *spinner(void *arg)
{
	while (!go)
		turns++;
	return arg;
}

int main(void)
{
	pthread_t t;

	NEED(pthread_create(&t, NULL, spinner, NULL) == 0);
	do
		usleep(100000);
	while (!turns); /* on a busy machine it may have begun to spin, or not */
	go = 1;
	for (volatile int i = 0; i < COMPUTE; i++)
		;
	CHECK(pthread_join(t, NULL) == 0);
	printf("# %ld turns\n", turns);
	step("a variable that is spun on");
	return check_status();
}
