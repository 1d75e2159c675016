/* SPDX-License-Identifier: MIT */
/*
 * onces.c: threads, one at a time, that come to a pthread_once while its routine runs in another one: where that waits, in a call
 * or for a lock, and where it computes. C11's too.
 * RECORD: --sched serial
 */
#include "check.h"

#include <pthread.h>
#include <threads.h>
#include <time.h>

#define THREADS 4
#define ROUNDS 40

static pthread_once_t onces[ROUNDS];
static once_flag flags[ROUNDS];
static pthread_barrier_t together;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned done, seen;
static volatile unsigned long computed;

/* The others come meanwhile. */
static void rest(void)
{
	struct timespec ts = {0, 300000};

	nanosleep(&ts, NULL);
}

static void waits(void)
{
	rest();
	CHECK(pthread_mutex_lock(&lock) == 0);
	rest();
	done++;
	CHECK(pthread_mutex_unlock(&lock) == 0);
}

static void computes(void)
{
	for (unsigned i = 0; i < 300000; i++)
		computed = computed * 5 + 1;
	waits();
}

static void *work(void *arg)
{
	unsigned last = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&together);
		CHECK(pthread_once(&onces[i], i % 2 ? waits : computes) == 0);
		CHECK(pthread_mutex_lock(&lock) == 0);
		CHECK(done > last);
		last = done;
		seen += done;
		CHECK(pthread_mutex_unlock(&lock) == 0);
		call_once(&flags[i], waits);
	}
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];

	NEED(pthread_barrier_init(&together, NULL, THREADS) == 0);
	for (int i = 0; i < THREADS; i++)
		NEED(pthread_create(&t[i], NULL, work, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(done == 2 * ROUNDS && seen);
	step("onces");
	return check_status();
}
