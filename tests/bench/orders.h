/* SPDX-License-Identifier: MIT */
/*
 * orders.h: what the programs with bugs of order share (ordering.c, orders.c, sequences.c): locks, what threads do besides,
 * threads to run, and a main that runs the bug it is asked for. Exit status 1, or no end: it has failed.
 *
 *   PROGRAM NAME         without NAME: prints all
 */
#ifndef FRED_BENCH_ORDERS_H
#define FRED_BENCH_ORDERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other __attribute__((unused)) = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t stats = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned long counted;
static atomic_int failed;

/* What programs do all the time: a call that locks. */
static inline void count(int times)
{
	for (int i = 0; i < times; i++) {
		pthread_mutex_lock(&stats);
		counted++;
		pthread_mutex_unlock(&stats);
	}
}

/* And between their calls: some work. */
static inline unsigned work(unsigned n)
{
	volatile unsigned x = n;

	for (unsigned i = 0; i < n; i++)
		x = x * 5 + i;
	return x;
}

/* ms from now on */
static inline void later(struct timespec *ts, long ms)
{
	clock_gettime(CLOCK_REALTIME, ts);
	ts->tv_nsec += ms * 1000000;
	ts->tv_sec += ts->tv_nsec / 1000000000;
	ts->tv_nsec %= 1000000000;
}

/* n threads, each with its number; until all have ended */
static inline void run(void *(*const fn[])(void *), int n)
{
	pthread_t t[4];

	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, fn[i], (void *)(size_t)i);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

static inline void both(void *(*a)(void *), void *(*b)(void *))
{
	run((void *(*const[])(void *)){a, b}, 2);
}

struct bug {
	const char *name;
	void (*run)(void);
};

static inline int run_bug(const struct bug *bugs, size_t n, int argc, char **argv)
{
	for (size_t i = 0; i < n; i++) {
		if (argc < 2)
			puts(bugs[i].name);
		else if (!strcmp(argv[1], bugs[i].name))
			bugs[i].run();
	}
	return failed;
}

#endif
