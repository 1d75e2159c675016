/* SPDX-License-Identifier: MIT */
/*
 * tsc.c: the processor's time stamp counter, read by the program itself, in threads and in a child.
 *
 * NONDET-OUTPUT
 * RECORD: --sched serial
 */
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>
#include <x86intrin.h>

static unsigned long sample(void)
{
	unsigned cpu;
	unsigned long first = __rdtsc(), sum = 0, last = first;

	for (int i = 0; i < 50; i++) {
		unsigned long now = i % 2 ? __rdtsc() : __rdtscp(&cpu);

		CHECK(now >= last);
		sum = sum * 31 + now;
		last = now;
	}
	return sum;
}

static void *thread(void *arg)
{
	*(unsigned long *)arg = sample();
	return NULL;
}

int main(void)
{
	unsigned long sum[3];
	pthread_t t[3];
	int status = -1;

	printf("%lx\n", sample());
	for (int i = 0; i < 3; i++)
		NEED(pthread_create(&t[i], NULL, thread, &sum[i]) == 0);
	for (int i = 0; i < 3; i++) {
		CHECK(pthread_join(t[i], NULL) == 0);
		printf("%lx\n", sum[i]);
	}
	fflush(stdout);
	if (fork() == 0) {
		printf("%lx\n", sample());
		fflush(stdout);
		execlp("true", "true", NULL);
		_exit(1);
	}
	CHECK(wait(&status) > 0 && status == 0);
	step("counter");
	return check_status();
}
