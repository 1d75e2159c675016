/* SPDX-License-Identifier: MIT */
/*
 * starved.c: a thread that gets hardly any processor between two calls, while another one waits for its turn: it does
 * not spin, and there is nothing to find again a few instructions behind a call.
 * RECORD: --sched serial
 */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define HOGS 3
#define CALLS 1000

static volatile unsigned long made[2];

static void *starved(void *arg)
{
	(void)arg;
	CHECK(setpriority(PRIO_PROCESS, (id_t)gettid(), 19) == 0);
	for (int i = 0; i < CALLS; i++) {
		for (int k = 0; k < 5000; k++)
			made[0] = made[0] * 31 + (unsigned long)k;
		CHECK(getppid() > 0);
	}
	return NULL;
}

static void *waits(void *arg)
{
	(void)arg;
	for (int i = 0; i < CALLS; i++) {
		made[1]++;
		CHECK(getppid() > 0);
	}
	return NULL;
}

static void hog(void)
{
	for (volatile long i = 0; i < 300000000; i++)
		;
	_exit(0);
}

int main(void)
{
	pthread_t t[2];
	cpu_set_t one;
	int status;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	for (int i = 0; i < HOGS; i++)
		if (fork() == 0)
			hog();
	pthread_create(&t[0], NULL, starved, NULL);
	pthread_create(&t[1], NULL, waits, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < HOGS; i++)
		CHECK(wait(&status) > 0 && status == 0);
	printf("%lx %lu\n", made[0], made[1]);
	step("starved");
	return check_status();
}
