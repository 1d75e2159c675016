/* SPDX-License-Identifier: MIT */
/*
 * good_late.c: a thread sets an atomic flag long before its next event, and another one sees it meanwhile: a replay
 * that runs each thread up to its next event in the order of these events comes to another result.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int flag;
static int data;

static void compute(long n)
{
	volatile long work = 0;

	for (long i = 0; i < n; i++)
		work += i;
}

static void *sets(void *arg)
{
	data = 1;
	atomic_store_explicit(&flag, 1, memory_order_release);
	compute(2000000);
	getuid();
	return arg;
}

static void *gets(void *arg)
{
	compute(200000);
	if (atomic_load_explicit(&flag, memory_order_acquire) && data)
		getppid();
	else
		getpid();
	getgid();
	return arg;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, sets, NULL);
	pthread_create(&b, NULL, gets, NULL);
	pthread_join(b, NULL);
	pthread_join(a, NULL);
	return 0;
}
