/* SPDX-License-Identifier: MIT */
/*
 * waited.c: threads that compute, one at a time, in a program whose conditions, barriers, semaphores and locks have been waited for:
 * what those waits have left in them says nothing about where a thread is interrupted later.
 * RECORD: --sched serial
 * NONDET-OUTPUT
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>

#define THREADS 2
#define ROUNDS 20
#define BUSY 30000000u

/* All of it beside what the computation changes. */
static volatile unsigned long shown[THREADS];
static pthread_barrier_t barrier;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;
static unsigned turn;
static int nowhere;

/* Holds it while the other one comes for it. */
static void hold_for_a_while(void)
{
	struct timespec ts = {0, 100000};

	nanosleep(&ts, NULL);
}

static void wait_for_all(unsigned me)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&barrier);
		CHECK(pthread_mutex_lock(&held) == 0);
		hold_for_a_while();
		CHECK(pthread_mutex_unlock(&held) == 0);
		CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
		hold_for_a_while();
		CHECK(pthread_rwlock_unlock(&rwlock) == 0);
		CHECK(pthread_mutex_lock(&lock) == 0);
		while (turn % THREADS != me)
			CHECK(pthread_cond_wait(&cond, &lock) == 0);
		turn++;
		CHECK(pthread_cond_broadcast(&cond) == 0);
		CHECK(pthread_mutex_unlock(&lock) == 0);
		if (me)
			CHECK(sem_post(&sem) == 0);
		else
			CHECK(sem_wait(&sem) == 0);
	}
}

/* Where it is interrupted shows in what the other one has seen of it by then. */
static void compute(unsigned me)
{
	unsigned long x = me + 7, seen[THREADS];

	for (unsigned n = 0; n < BUSY; n++) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		shown[me] = x;
	}
	for (unsigned i = 0; i < THREADS; i++)
		seen[i] = shown[i];
	CHECK(write(nowhere, seen, sizeof(seen)) == sizeof(seen));
}

static void *work(void *arg)
{
	unsigned me = (unsigned)(size_t)arg;

	wait_for_all(me);
	compute(me);
	/* and while it has one that the other one waits for */
	CHECK(pthread_mutex_lock(&held) == 0);
	compute(me);
	CHECK(pthread_mutex_unlock(&held) == 0);
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	nowhere = open("/dev/null", O_WRONLY);
	NEED(nowhere >= 0);
	NEED(pthread_barrier_init(&barrier, NULL, THREADS) == 0 && sem_init(&sem, 0, 0) == 0);
	for (size_t i = 0; i < THREADS; i++)
		NEED(pthread_create(&t[i], NULL, work, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	step("waited");
	return check_status();
}
