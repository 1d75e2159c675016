/* SPDX-License-Identifier: MIT */
/* sem.c: semaphores: ping-pong, several waiters, try and timed waits, values, and a named one. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static sem_t ping, pong, pool;
static unsigned long turns;
static atomic_int inside, most;
static pthread_mutex_t most_lock = PTHREAD_MUTEX_INITIALIZER;

static void *player(void *arg)
{
	for (int i = 0; i < 5000; i++) {
		sem_wait(&ping);
		turns++;
		sem_post(&pong);
	}
	return arg;
}

static void test_ping_pong(void)
{
	pthread_t t;

	sem_init(&ping, 0, 0);
	sem_init(&pong, 0, 0);
	NEED(pthread_create(&t, NULL, player, NULL) == 0);
	for (unsigned i = 0; i < 5000; i++) {
		CHECK(turns == i);
		sem_post(&ping);
		sem_wait(&pong);
	}
	pthread_join(t, NULL);
	CHECK(turns == 5000);
	step("ping-pong");
}

static void *guest(void *arg)
{
	for (int i = 0; i < 500; i++) {
		int now;

		sem_wait(&pool);
		now = atomic_fetch_add(&inside, 1) + 1;
		pthread_mutex_lock(&most_lock); /* a loop of compare and exchange would let one thread run at a time */
		if (now > most)
			most = now;
		pthread_mutex_unlock(&most_lock);
		atomic_fetch_sub(&inside, 1);
		sem_post(&pool);
	}
	return arg;
}

static void test_pool(void)
{
	pthread_t t[6];
	int value;

	sem_init(&pool, 0, 3);
	for (int i = 0; i < 6; i++)
		NEED(pthread_create(&t[i], NULL, guest, NULL) == 0);
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], NULL);
	CHECK(sem_getvalue(&pool, &value) == 0 && value == 3);
	CHECK(atomic_load(&most) <= 3 && atomic_load(&most) >= 1);
	step("pool");
}

static void test_try(void)
{
	struct timespec soon;

	for (int i = 0; i < 3; i++)
		CHECK(sem_trywait(&pool) == 0);
	CHECK(sem_trywait(&pool) == -1 && errno == EAGAIN);
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += 2000000;
	if (soon.tv_nsec >= 1000000000)
		soon.tv_sec++, soon.tv_nsec -= 1000000000;
	CHECK(sem_timedwait(&pool, &soon) == -1 && errno == ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &soon);
	CHECK(sem_clockwait(&pool, CLOCK_MONOTONIC, &soon) == -1 && errno == ETIMEDOUT);
	CHECK(sem_destroy(&pool) == 0);
	step("try and timed");
}

static void test_named(void)
{
	char name[64];
	sem_t *s;
	int value;

	snprintf(name, sizeof(name), "/fred-test-%d", (int)getpid());
	sem_unlink(name);
	s = sem_open(name, O_CREAT | O_EXCL, 0600, 2);
	NEED(s != SEM_FAILED);
	CHECK(sem_wait(s) == 0);
	CHECK(sem_getvalue(s, &value) == 0 && value == 1);
	CHECK(sem_post(s) == 0);
	CHECK(sem_close(s) == 0);
	CHECK(sem_unlink(name) == 0);
	CHECK(sem_open(name, 0) == SEM_FAILED && errno == ENOENT);
	step("named");
}

int main(void)
{
	test_ping_pong();
	test_pool();
	test_try();
	test_named();
	return check_status();
}
