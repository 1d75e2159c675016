/* SPDX-License-Identifier: MIT */
/* rwlock.c: read-write locks, barriers and spin locks under contention, and their refusals. */
#include "check.h"

#include <pthread.h>
#include <time.h>

#define THREADS 4
#define ROUNDS 2000

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static unsigned long pair[2], spun, serial[THREADS], phases[THREADS];

static void *readers_writers(void *arg)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		if ((i + (size_t)arg) % 5 == 0) {
			pthread_rwlock_wrlock(&rw);
			pair[0]++;
			pair[1] += 2;
		} else {
			if (i % 7 || pthread_rwlock_tryrdlock(&rw))
				pthread_rwlock_rdlock(&rw);
			CHECK(pair[1] == 2 * pair[0]);
		}
		pthread_rwlock_unlock(&rw);
	}
	return NULL;
}

static void *spinner(void *arg)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (i % 4 || pthread_spin_trylock(&spin))
			pthread_spin_lock(&spin);
		spun++;
		pthread_spin_unlock(&spin);
	}
	return arg;
}

static void *phaser(void *arg)
{
	size_t id = (size_t)arg;

	for (unsigned i = 0; i < 300; i++) {
		phases[id]++;
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			serial[id]++;
		for (int k = 0; k < THREADS; k++)
			CHECK(phases[k] == i + 1);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void run(void *(*body)(void *))
{
	pthread_t t[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		NEED(pthread_create(&t[i], NULL, body, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void *refused(void *arg)
{
	struct timespec soon;

	(void)arg;
	CHECK(pthread_rwlock_tryrdlock(&rw) == EBUSY);
	CHECK(pthread_rwlock_trywrlock(&rw) == EBUSY);
	clock_gettime(CLOCK_REALTIME, &soon);
	CHECK(pthread_rwlock_timedrdlock(&rw, &soon) == ETIMEDOUT);
	CHECK(pthread_rwlock_timedwrlock(&rw, &soon) == ETIMEDOUT);
	CHECK(pthread_spin_trylock(&spin) == EBUSY);
	return NULL;
}

static void test_refusals(void)
{
	pthread_t t;

	CHECK(pthread_rwlock_trywrlock(&rw) == 0);
	CHECK(pthread_spin_lock(&spin) == 0);
	NEED(pthread_create(&t, NULL, refused, NULL) == 0);
	pthread_join(t, NULL);
	CHECK(pthread_rwlock_wrlock(&rw) == EDEADLK);
	CHECK(pthread_spin_unlock(&spin) == 0);
	CHECK(pthread_rwlock_unlock(&rw) == 0);
	step("refusals");
}

int main(void)
{
	unsigned long serials = 0;

	NEED(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
	NEED(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
	run(readers_writers);
	CHECK(pair[0] == THREADS * ROUNDS / 5);
	step("rwlock");
	run(spinner);
	CHECK(spun == THREADS * ROUNDS);
	step("spin lock");
	run(phaser);
	for (int i = 0; i < THREADS; i++)
		serials += serial[i];
	CHECK(serials == 300);
	step("barrier");
	test_refusals();
	CHECK(pthread_rwlock_destroy(&rw) == 0);
	CHECK(pthread_spin_destroy(&spin) == 0);
	CHECK(pthread_barrier_destroy(&barrier) == 0);
	step("destroyed");
	return check_status();
}
