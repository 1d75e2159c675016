/* SPDX-License-Identifier: MIT */
/*
 * mutex_kinds.c: robust mutexes whose owner has ended, priority inheritance and protection, recursion, error checks,
 * under contention.
 */
#include "check.h"

#include <pthread.h>

#define THREADS 4
#define ROUNDS 500

static pthread_mutex_t mutex;
static unsigned long count;

static void init(int type, int robust, int protocol)
{
	pthread_mutexattr_t a;

	NEED(pthread_mutexattr_init(&a) == 0);
	CHECK(pthread_mutexattr_settype(&a, type) == 0);
	CHECK(pthread_mutexattr_setrobust(&a, robust) == 0);
	CHECK(pthread_mutexattr_setprotocol(&a, protocol) == 0);
	NEED(pthread_mutex_init(&mutex, &a) == 0);
	pthread_mutexattr_destroy(&a);
}

static void *add(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		if (!CHECK(pthread_mutex_lock(&mutex) == 0))
			break;
		count++;
		CHECK(pthread_mutex_unlock(&mutex) == 0);
	}
	return NULL;
}

static void contend(const char *name)
{
	pthread_t t[THREADS];

	count = 0;
	for (int i = 0; i < THREADS; i++)
		NEED(pthread_create(&t[i], NULL, add, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(count == THREADS * ROUNDS);
	step(name);
}

static void *die_with_it(void *arg)
{
	(void)arg;
	CHECK(pthread_mutex_lock(&mutex) == 0);
	return NULL;
}

static void owner_dies(const char *name)
{
	pthread_t t;

	NEED(pthread_create(&t, NULL, die_with_it, NULL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	CHECK(pthread_mutex_lock(&mutex) == EOWNERDEAD);
	CHECK(pthread_mutex_consistent(&mutex) == 0);
	CHECK(pthread_mutex_unlock(&mutex) == 0);
	contend(name);
	NEED(pthread_create(&t, NULL, die_with_it, NULL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	CHECK(pthread_mutex_lock(&mutex) == EOWNERDEAD && pthread_mutex_unlock(&mutex) == 0);
	CHECK(pthread_mutex_lock(&mutex) == ENOTRECOVERABLE);
	pthread_mutex_destroy(&mutex);
}

int main(void)
{
	init(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
	contend("priority inheritance");
	pthread_mutex_destroy(&mutex);
	init(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
	owner_dies("robust");
	init(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_INHERIT);
	owner_dies("robust, priority inheritance");
	init(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	CHECK(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_lock(&mutex) == 0);
	CHECK(pthread_mutex_unlock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
	CHECK(pthread_mutex_unlock(&mutex) == EPERM);
	contend("recursive");
	pthread_mutex_destroy(&mutex);
	init(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	CHECK(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_lock(&mutex) == EDEADLK);
	CHECK(pthread_mutex_unlock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == EPERM);
	contend("error checks");
	return check_status();
}
