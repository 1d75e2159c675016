/* SPDX-License-Identifier: MIT */
/*
 * random_threads.c: threads that draw from the one sequence of rand(): who draws which number is decided by
 * a lock inside libc.
 * NONDET-OUTPUT
 */
#include "check.h"

#include <pthread.h>

static void *draw(void *arg)
{
	unsigned long sum = 0;

	for (int i = 0; i < 1000; i++)
		sum = sum * 31 + (unsigned)rand() + arc4random_uniform(1000);
	*(unsigned long *)arg = sum;
	return NULL;
}

/* rand() takes a lock inside libc: which thread draws which number is a race that must replay. */
static void test_threads(void)
{
	unsigned long sum[3];
	pthread_t t[3];

	srand(1);
	for (int i = 0; i < 3; i++)
		NEED(pthread_create(&t[i], NULL, draw, &sum[i]) == 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("threads %lx %lx %lx\n", sum[0], sum[1], sum[2]);
	step("threads");
}

int main(void)
{
	test_threads();
	return check_status();
}
