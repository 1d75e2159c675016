/* SPDX-License-Identifier: MIT */
/*
 * session.c: what a debugging session is measured on: session {events|compute|threads|memory|turns} ROUNDS. rare() is
 * called once, in the middle; often() 10,000 times at equal distances; last() at the end.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OFTEN 10000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long rounds;
static int zero;
long total, rarely, count; /* changed by often(), by rare(), in each round */
volatile long same; /* set in each round, to what it is */

__attribute__((noinline)) void often(long i)
{
	total += i;
}

__attribute__((noinline)) void rare(long i)
{
	rarely = i;
}

static void call_at(long i)
{
	same = 7;
	if (i % (rounds / OFTEN) == 0)
		often(i / (rounds / OFTEN));
	if (i == rounds / 2)
		rare(i);
}

static void look(long i)
{
	struct stat st;
	char buf[64];

	if (i % 8 == 0 && read(zero, buf, sizeof(buf)) != sizeof(buf))
		abort();
	if (i % 64 == 0 && fstat(zero, &st))
		abort();
}

/* Locks, reads, and some calls that have no wrapper. */
static void events(void)
{
	for (long i = 0; i < rounds; i++) {
		pthread_mutex_lock(&lock);
		count++;
		pthread_mutex_unlock(&lock);
		look(i);
		call_at(i);
	}
}

static __attribute__((noinline)) unsigned long spin(unsigned long n)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < n; i++) /* spin: loop */
		x = (x ^ (x >> 29)) * 6364136223846793005ul + i;
	return x; /* spin: end */
}

static __attribute__((noinline)) unsigned long line(unsigned long n)
{
	unsigned long x = 1, i;

	for (i = 0; i < n; i++)
		x = (x ^ (x >> 29)) * 6364136223846793005ul + i; /* line: loop */
	return x;
}

/* One segment. */
static void compute(void)
{
	for (long i = 0; i < rounds; i++) {
		count += (long)(spin(20) & 1);
		call_at(i);
	}
}

static void *work(void *calls)
{
	unsigned long x = 0;

	for (long i = 0; i < rounds; i++) {
		pthread_mutex_lock(&lock);
		count++;
		if (calls)
			call_at(i);
		pthread_mutex_unlock(&lock);
		x += spin(100);
	}
	return x ? NULL : calls;
}

static void threads(void)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, work, i ? t : NULL))
			abort();
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

static pthread_cond_t next = PTHREAD_COND_INITIALIZER;

/* Takes turns with another one, and writes what is there already. */
static void *take_turns(void *second)
{
	long me = second != NULL;

	pthread_mutex_lock(&lock);
	while (count < rounds) {
		if (count % 2 == me) {
			for (int k = 0; k < 100; k++)
				same = 7;
			call_at(count++);
			pthread_cond_signal(&next);
		} else {
			pthread_cond_wait(&next, &lock);
		}
	}
	pthread_cond_signal(&next);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void turns(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, take_turns, &t))
		abort();
	take_turns(NULL);
	pthread_join(t, NULL);
}

/* 100 MB in use. */
static void memory(void)
{
	char *m = malloc(100 << 20);

	for (long i = 0; i < 100 << 8; i++)
		memset(m + (i << 12), (int)i, 4096);
	events();
}

__attribute__((noinline)) long tick(void)
{
	char c;

	return read(zero, &c, 1);
}

int last(void)
{
	long a = tick(); /* last: first */

	a += tick();
	a += tick();
	a += tick();
	a += tick();
	a += tick();
	a += tick();
	a += tick(); /* last: ticked */
	a += (long)line(400000);
	a += (long)spin(20000000); /* last: spin */
	return a == 0; /* last: end */
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{"events", events}, {"compute", compute}, {"threads", threads}, {"memory", memory}, {"turns", turns}};

	if (argc != 3)
		return 2;
	rounds = strtol(argv[2], NULL, 10) / OFTEN * OFTEN;
	zero = open("/dev/zero", O_RDONLY);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			kinds[i].run();
	return last();
}
