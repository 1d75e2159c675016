/* SPDX-License-Identifier: MIT */
/* mutex.c: all types of mutexes, timed and tried locks, contention; C11's too. */
#include "check.h"

#include <pthread.h>
#include <threads.h>
#include <time.h>

#define THREADS 4
#define ROUNDS 5000

struct shared {
	pthread_mutex_t m;
	unsigned long count, hash;
	atomic_ulong busy;
};

static void init_type(pthread_mutex_t *m, int type)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	CHECK(pthread_mutexattr_settype(&attr, type) == 0);
	NEED(pthread_mutex_init(m, &attr) == 0);
	pthread_mutexattr_destroy(&attr);
}

static struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void *contend(void *arg)
{
	struct shared *s = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		if (i % 3) {
			pthread_mutex_lock(&s->m);
		} else {
			while (pthread_mutex_trylock(&s->m)) {
				atomic_fetch_add(&s->busy, 1);
				thrd_yield();
			}
		}
		s->count++;
		s->hash = s->hash * 31 + i;
		pthread_mutex_unlock(&s->m);
	}
	return NULL;
}

static void test_contention(int type, const char *name)
{
	struct shared s = {.count = 0};
	pthread_t t[THREADS];

	init_type(&s.m, type);
	for (int i = 0; i < THREADS; i++)
		NEED(pthread_create(&t[i], NULL, contend, &s) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CHECK(s.count == THREADS * ROUNDS);
	CHECK(pthread_mutex_destroy(&s.m) == 0);
	step(name);
}

static void test_recursive(void)
{
	pthread_mutex_t m;

	init_type(&m, PTHREAD_MUTEX_RECURSIVE);
	for (int i = 0; i < 5; i++)
		CHECK((i % 2 ? pthread_mutex_lock(&m) : pthread_mutex_trylock(&m)) == 0);
	for (int i = 0; i < 5; i++)
		CHECK(pthread_mutex_unlock(&m) == 0);
	CHECK(pthread_mutex_unlock(&m) == EPERM);
	CHECK(pthread_mutex_destroy(&m) == 0);
	step("recursive");
}

static void *try_it(void *arg)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 3);

	CHECK(pthread_mutex_trylock(arg) == EBUSY);
	CHECK(pthread_mutex_timedlock(arg, &soon) == ETIMEDOUT);
	soon = in_ms(CLOCK_MONOTONIC, 3);
	CHECK(pthread_mutex_clocklock(arg, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
	CHECK(pthread_mutex_unlock(arg) == EPERM);
	return NULL;
}

static void test_errorcheck(void)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 1000);
	pthread_mutex_t m;
	pthread_t t;

	init_type(&m, PTHREAD_MUTEX_ERRORCHECK);
	CHECK(pthread_mutex_timedlock(&m, &soon) == 0);
	CHECK(pthread_mutex_lock(&m) == EDEADLK);
	NEED(pthread_create(&t, NULL, try_it, &m) == 0);
	pthread_join(t, NULL);
	CHECK(pthread_mutex_unlock(&m) == 0);
	CHECK(pthread_mutex_unlock(&m) == EPERM);
	CHECK(pthread_mutex_destroy(&m) == 0);
	step("error checking and timed");
}

static void *die_locked(void *arg)
{
	pthread_mutex_lock(arg);
	return NULL;
}

static void test_robust(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t m;
	pthread_t t;

	pthread_mutexattr_init(&attr);
	CHECK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0);
	NEED(pthread_mutex_init(&m, &attr) == 0);
	NEED(pthread_create(&t, NULL, die_locked, &m) == 0);
	pthread_join(t, NULL);
	CHECK(pthread_mutex_lock(&m) == EOWNERDEAD);
	CHECK(pthread_mutex_consistent(&m) == 0);
	CHECK(pthread_mutex_unlock(&m) == 0);
	CHECK(pthread_mutex_lock(&m) == 0);
	CHECK(pthread_mutex_unlock(&m) == 0);
	CHECK(pthread_mutex_destroy(&m) == 0);
	step("robust");
}

static void test_c11(void)
{
	mtx_t m;

	NEED(mtx_init(&m, mtx_plain | mtx_recursive) == thrd_success);
	CHECK(mtx_lock(&m) == thrd_success);
	CHECK(mtx_trylock(&m) == thrd_success);
	CHECK(mtx_unlock(&m) == thrd_success);
	CHECK(mtx_unlock(&m) == thrd_success);
	mtx_destroy(&m);
	step("C11");
}

int main(void)
{
	test_contention(PTHREAD_MUTEX_NORMAL, "contention, normal");
	test_contention(PTHREAD_MUTEX_RECURSIVE, "contention, recursive");
	test_contention(PTHREAD_MUTEX_ERRORCHECK, "contention, error checking");
	test_contention(PTHREAD_MUTEX_ADAPTIVE_NP, "contention, adaptive");
	test_recursive();
	test_errorcheck();
	test_robust();
	test_c11();
	return check_status();
}
