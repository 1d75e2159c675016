/* SPDX-License-Identifier: MIT */
/*
 * races.c: threads that race for plain memory, atomics and locks that are only tried. What each of them sees
 * goes into a digest that is written now and then, so a replay in which anything differs diverges.
 * RECORD: --sched serial
 * NONDET-OUTPUT
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#define THREADS 4
#define ROUNDS 250000

static volatile unsigned long plain, digest = 1;
static atomic_ulong counted, handled;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;
static int nowhere, ends[2];

/* Not atomic, on purpose: the result depends on every switch between threads. */
static void mix(unsigned long v)
{
	digest = (digest ^ v) * 0x9e3779b97f4a7c15ul + 1;
}

static void see(int id)
{
	unsigned long seen[3] = {(unsigned long)id, plain, digest};

	CHECK(write(nowhere, seen, sizeof(seen)) == (ssize_t)sizeof(seen));
}

static void locks(int id, int i)
{
	struct timespec nap = {0, 1000};
	char c;

	switch (i / 250 % 8) {
	case 0:
		mix(pthread_mutex_trylock(&lock) == 0 ? (pthread_mutex_unlock(&lock), 1) : 2);
		break;
	case 1:
		pthread_mutex_lock(&lock);
		mix(plain);
		sched_yield();
		pthread_mutex_unlock(&lock);
		break;
	case 2:
		mix((unsigned long)sem_trywait(&sem));
		sem_post(&sem);
		break;
	case 3:
		pthread_rwlock_rdlock(&rwlock);
		mix(plain);
		pthread_rwlock_unlock(&rwlock);
		break;
	case 4:
		pthread_rwlock_wrlock(&rwlock);
		mix(plain + 1);
		pthread_rwlock_unlock(&rwlock);
		break;
	case 5:
		clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
		mix(plain);
		break;
	case 6:
		CHECK(write(ends[1], "x", 1) == 1);
		CHECK(read(ends[0], &c, 1) == 1);
		mix(plain + 2);
		break;
	case 7:
		if (i / 250 % 16 == 7)
			pthread_kill(pthread_self(), SIGUSR1);
		see(id);
		break;
	}
}

static void on_signal(int sig)
{
	mix((unsigned long)sig + plain);
	atomic_fetch_add(&handled, 1);
}

static void *race(void *arg)
{
	int id = (int)(size_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned long was = plain, old = atomic_load(&counted);

		mix(was + (unsigned long)id);
		plain = was + 1;
		while (!atomic_compare_exchange_weak(&counted, &old, old + 1))
			mix(old);
		if (i % 50 == 0)
			mix((unsigned long)getppid());
		if (i % 250 == 0)
			locks(id, i);
	}
	see(id);
	return NULL;
}

/* Each waits until all others are as far. */
static void *meet(void *arg)
{
	static volatile int here[THREADS];
	int id = (int)(size_t)arg;

	for (int i = 1; i <= 200; i++) {
		here[id] = i;
		for (int k = 0; k < THREADS; k++)
			while (here[k] < i) {
				mix((unsigned long)k);
				sched_yield();
			}
	}
	see(id);
	return NULL;
}

static void run(void *(*body)(void *))
{
	pthread_t t[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		NEED(pthread_create(&t[i], NULL, body, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
}

int main(void)
{
	struct sigaction sa = {.sa_handler = on_signal};

	nowhere = open("/dev/null", O_WRONLY);
	NEED(nowhere >= 0 && pipe(ends) == 0 && sem_init(&sem, 0, 2) == 0);
	sigaction(SIGUSR1, &sa, NULL);
	run(race);
	CHECK(atomic_load(&counted) == (unsigned long)THREADS * ROUNDS);
	CHECK(atomic_load(&handled) > 0);
	step("race");
	run(meet);
	step("meet");
	printf("%lu %lx\n", plain, digest);
	return check_status();
}
