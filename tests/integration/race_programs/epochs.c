/* SPDX-License-Identifier: MIT */
/*
 * epochs.c: accesses that are made again and again, of which most change nothing; but after a release, or in memory
 * that was given out anew, the same access is another one.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define TIMES 300000

static int by_store, by_change, sum;
static char *block;
static atomic_int stored, changed;
static pthread_barrier_t barrier;

static void *release(void *arg)
{
	for (int i = 1; i <= TIMES; i++) { /* the last one comes after the release */
		by_store += i; /* RACE: by_store */
		if (i == TIMES - 1)
			atomic_store_explicit(&stored, 1, memory_order_release);
	}
	for (int i = 1; i <= TIMES; i++) {
		by_change += i; /* RACE: by_change */
		if (i == TIMES - 1)
			atomic_fetch_add_explicit(&changed, 1, memory_order_release);
	}
	return arg;
}

static void *acquire(void *arg)
{
	while (!atomic_load_explicit(&stored, memory_order_acquire))
		sched_yield();
	sum += by_store; /* RACE: by_store */
	while (!atomic_load_explicit(&changed, memory_order_acquire))
		sched_yield();
	sum += by_change; /* RACE: by_change */
	return arg;
}

/* Its blocks are at one address, and the last one is the other thread's, too. */
static void *allocate(void *arg)
{
	for (int i = 0; i < 20; i++) {
		free(block);
		block = malloc(24); /* ALLOC */
		block[0] = (char)i; /* ordered by the barrier */
	}
	pthread_barrier_wait(&barrier);
	block[0]++; /* RACE: - */
	return arg;
}

static void *use(void *arg)
{
	pthread_barrier_wait(&barrier);
	block[0]++; /* RACE: - */
	return arg;
}

static void both(void *(*one)(void *), void *(*other)(void *))
{
	pthread_t a, b;

	pthread_create(&a, NULL, one, NULL);
	pthread_create(&b, NULL, other, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	both(release, acquire);
	both(allocate, use);
	return 0;
}
