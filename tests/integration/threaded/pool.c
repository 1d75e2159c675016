/* SPDX-License-Identifier: MIT */
/* pool.c: workers take jobs from a queue; each has its own data, which are destroyed. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "mark.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int queue[8], filled, closed;
static __thread int own;

static void make_key(void);

static void destroy(void *p)
{
	mark(*(int *)p);
	free(p);
}

static void make_key(void)
{
	pthread_key_create(&key, destroy);
}

static int take(void)
{
	int got = 0;

	pthread_mutex_lock(&lock);
	while (!filled && !closed)
		pthread_cond_wait(&more, &lock);
	if (filled)
		got = queue[--filled];
	pthread_mutex_unlock(&lock);
	return got;
}

static void *works(void *arg)
{
	int job, *sum = calloc(1, sizeof(*sum));

	pthread_once(&once, make_key);
	pthread_setspecific(key, sum);
	while ((job = take()) != 0) {
		mark(job);
		*sum += job;
		own++;
	}
	return arg;
}

int main(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], 0, works, 0);
	for (int i = 1; i <= 6; i++) {
		pthread_mutex_lock(&lock);
		queue[filled++] = i;
		pthread_cond_signal(&more);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	closed = 1;
	pthread_cond_broadcast(&more);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	return marks != 42;
}
