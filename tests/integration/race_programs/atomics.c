/* SPDX-License-Identifier: MIT */
/* atomics.c: atomic operations do not help what is beside them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int counted, told, added;
static int plain, mixed, late, early, said, summed;

/* Members of the same name. */
struct atomic_one {
	atomic_int n;
} safe;
struct plain_one {
	struct {
		int n;
	};
	struct atomic_one other;
} *item;

static void *work(void *arg)
{
	atomic_fetch_add(&counted, 1);
	plain++; /* RACE: plain */
	return arg;
}

static void *adds(void *arg)
{
	__atomic_fetch_add(&mixed, 1, __ATOMIC_SEQ_CST); /* RACE: mixed */
	return arg;
}

static void *counts(void *arg)
{
	mixed++; /* RACE: mixed */
	return arg;
}

static void *sets(void *arg)
{
	atomic_store_explicit(&counted, 9, memory_order_release);
	late = 1; /* RACE: late */
	return arg;
}

static void *gets(void *arg)
{
	while (atomic_load_explicit(&counted, memory_order_acquire) != 9)
		;
	return late ? arg : NULL; /* RACE: late */
}

static void *says(void *arg)
{
	early = 1; /* RACE: early */
	atomic_store_explicit(&counted, 10, memory_order_release);
	return arg;
}

static void *hears(void *arg)
{
	while (atomic_load_explicit(&counted, memory_order_relaxed) != 10)
		;
	return early ? arg : NULL; /* RACE: early */
}

static void *tells(void *arg)
{
	said = 1; /* RACE: said */
	item->n = 1; /* RACE: - */
	item->other.n = 2;
	atomic_store_explicit(&told, 1, memory_order_relaxed);
	summed = 1; /* RACE: summed */
	atomic_fetch_add_explicit(&added, 1, memory_order_relaxed);
	return arg;
}

static void *asks(void *arg)
{
	volatile int sum = 0; /* one line does not become another's */

	while (atomic_load_explicit(&told, memory_order_acquire) != 1)
		;
	sum += said; /* RACE: said */
	sum += item[safe.n].n; /* RACE: - */
	sum += item->other.n;
	while (atomic_fetch_add_explicit(&added, 0, memory_order_acquire) != 1)
		;
	return sum + summed ? arg : NULL; /* RACE: summed */
}

static void both(void *(*f)(void *), void *(*g)(void *))
{
	pthread_t t[2];

	pthread_create(&t[0], NULL, f, NULL);
	pthread_create(&t[1], NULL, g, NULL);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}

int main(void)
{
	both(work, work);
	both(adds, counts);
	both(sets, gets);
	both(says, hears);
	item = calloc(1, sizeof(*item)); /* ALLOC */
	both(tells, asks);
	return 0;
}
