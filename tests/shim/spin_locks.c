/* SPDX-License-Identifier: MIT */
/*
 * spin_locks.c: a lock of the program's own, taken by an atomic instruction: who had it in which order shows in what is printed.
 * NONDET-OUTPUT
 * NOTES: one thread ran at a time
 */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

#define ROUNDS 3000000

static int locked;
static unsigned order = 1;
static pthread_barrier_t begin;

static void lock(void)
{
	int is_free = 0;

	while (!__atomic_compare_exchange_n(&locked, &is_free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		is_free = 0;
}

static void *worker(void *arg)
{
	unsigned id = (unsigned)(size_t)arg;

	pthread_barrier_wait(&begin);
	for (int i = 0; i < ROUNDS; i++) {
		lock();
		order = order * 31 + id;
		__atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
		if (i % 10000 == 0)
			getppid();
	}
	return NULL;
}

int main(void)
{
	pthread_t t[3];

	NEED(pthread_barrier_init(&begin, NULL, 3) == 0);
	for (size_t i = 0; i < 3; i++)
		NEED(pthread_create(&t[i], NULL, worker, (void *)(i + 1)) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	printf("# %u\n", order);
	step("a lock that is taken by compare and exchange");
	return check_status();
}
