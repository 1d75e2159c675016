/* SPDX-License-Identifier: MIT */
/* cond.c: condition variables: a bounded buffer with checksums, broadcast, timed waits on both clocks. */
#include "check.h"

#include <pthread.h>
#include <threads.h>
#include <time.h>

#define PRODUCERS 3
#define CONSUMERS 3
#define ITEMS 4000
#define SLOTS 8

static struct {
	pthread_mutex_t m;
	pthread_cond_t not_full, not_empty;
	unsigned slot[SLOTS], head, used, done;
	unsigned long put, taken;
} buffer = {.m = PTHREAD_MUTEX_INITIALIZER,
	    .not_full = PTHREAD_COND_INITIALIZER,
	    .not_empty = PTHREAD_COND_INITIALIZER};

static void *produce(void *arg)
{
	unsigned id = (unsigned)(size_t)arg;

	for (unsigned i = 0; i < ITEMS; i++) {
		pthread_mutex_lock(&buffer.m);
		while (buffer.used == SLOTS)
			pthread_cond_wait(&buffer.not_full, &buffer.m);
		buffer.slot[(buffer.head + buffer.used++) % SLOTS] = id * ITEMS + i;
		buffer.put += id * ITEMS + i;
		pthread_cond_signal(&buffer.not_empty);
		pthread_mutex_unlock(&buffer.m);
	}
	return NULL;
}

static void *consume(void *arg)
{
	(void)arg;
	for (;;) {
		pthread_mutex_lock(&buffer.m);
		while (!buffer.used && !buffer.done)
			pthread_cond_wait(&buffer.not_empty, &buffer.m);
		if (!buffer.used) {
			pthread_mutex_unlock(&buffer.m);
			return NULL;
		}
		buffer.taken += buffer.slot[buffer.head];
		buffer.head = (buffer.head + 1) % SLOTS;
		buffer.used--;
		pthread_cond_signal(&buffer.not_full);
		pthread_mutex_unlock(&buffer.m);
	}
}

static void test_buffer(void)
{
	pthread_t p[PRODUCERS], c[CONSUMERS];
	unsigned long n = PRODUCERS * ITEMS;

	for (size_t i = 0; i < PRODUCERS; i++)
		NEED(pthread_create(&p[i], NULL, produce, (void *)i) == 0);
	for (size_t i = 0; i < CONSUMERS; i++)
		NEED(pthread_create(&c[i], NULL, consume, (void *)i) == 0);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(p[i], NULL);
	pthread_mutex_lock(&buffer.m);
	buffer.done = 1;
	pthread_cond_broadcast(&buffer.not_empty);
	pthread_mutex_unlock(&buffer.m);
	for (int i = 0; i < CONSUMERS; i++)
		pthread_join(c[i], NULL);
	CHECK(buffer.put == buffer.taken && buffer.taken == n * (n - 1) / 2);
	CHECK(pthread_cond_destroy(&buffer.not_full) == 0);
	step("bounded buffer");
}

static struct {
	pthread_mutex_t m;
	pthread_cond_t c;
	int waiting, generation, woken;
} gate = {.m = PTHREAD_MUTEX_INITIALIZER, .c = PTHREAD_COND_INITIALIZER};

static void *pass_gate(void *arg)
{
	for (int round = 0; round < 50; round++) {
		pthread_mutex_lock(&gate.m);
		if (++gate.waiting == 5) {
			gate.waiting = 0;
			gate.generation++;
			pthread_cond_broadcast(&gate.c);
		} else {
			int mine = gate.generation;

			while (gate.generation == mine)
				pthread_cond_wait(&gate.c, &gate.m);
			gate.woken++;
		}
		pthread_mutex_unlock(&gate.m);
	}
	return arg;
}

static void test_broadcast(void)
{
	pthread_t t[5];

	for (int i = 0; i < 5; i++)
		NEED(pthread_create(&t[i], NULL, pass_gate, NULL) == 0);
	for (int i = 0; i < 5; i++)
		pthread_join(t[i], NULL);
	CHECK(gate.generation == 50 && gate.woken == 200);
	step("broadcast");
}

static void wait_timed(clockid_t clock)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	struct timespec until, after;
	pthread_condattr_t attr;
	pthread_cond_t c;
	int ret;

	pthread_condattr_init(&attr);
	CHECK(pthread_condattr_setclock(&attr, clock) == 0);
	NEED(pthread_cond_init(&c, &attr) == 0);
	clock_gettime(clock, &until);
	until.tv_nsec += 4000000;
	if (until.tv_nsec >= 1000000000)
		until.tv_sec++, until.tv_nsec -= 1000000000;
	pthread_mutex_lock(&m);
	while ((ret = pthread_cond_timedwait(&c, &m, &until)) == 0)
		;
	CHECK(ret == ETIMEDOUT);
	clock_gettime(clock, &after);
	CHECK(after.tv_sec > until.tv_sec ||
	      (after.tv_sec == until.tv_sec && after.tv_nsec >= until.tv_nsec));
	while ((ret = pthread_cond_clockwait(&c, &m, clock, &until)) == 0)
		;
	CHECK(ret == ETIMEDOUT);
	pthread_mutex_unlock(&m);
	CHECK(pthread_cond_destroy(&c) == 0);
}

static int c11_flag;
static mtx_t c11_m;
static cnd_t c11_c;

static int c11_waiter(void *arg)
{
	(void)arg;
	mtx_lock(&c11_m);
	while (!c11_flag)
		cnd_wait(&c11_c, &c11_m);
	mtx_unlock(&c11_m);
	return 3;
}

static void test_c11(void)
{
	thrd_t t;
	int ret;

	NEED(mtx_init(&c11_m, mtx_plain) == thrd_success && cnd_init(&c11_c) == thrd_success);
	NEED(thrd_create(&t, c11_waiter, NULL) == thrd_success);
	mtx_lock(&c11_m);
	c11_flag = 1;
	cnd_broadcast(&c11_c);
	mtx_unlock(&c11_m);
	CHECK(thrd_join(t, &ret) == thrd_success && ret == 3);
	cnd_destroy(&c11_c);
	mtx_destroy(&c11_m);
	step("C11");
}

int main(void)
{
	test_buffer();
	test_broadcast();
	wait_timed(CLOCK_REALTIME);
	wait_timed(CLOCK_MONOTONIC);
	step("timed waits");
	test_c11();
	return check_status();
}
