/* SPDX-License-Identifier: MIT */
/* KIND: assertion */
/* NOT-SAID: thread 2 wrote hits */
/* A statistic loses an update, and the check would have failed with that, too. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
static long hits;
static int *volatile p;
static int value;
static sem_t read_it, wrote_it;
static void add(long n, int slow)
{
	long now = hits;
	if (slow) { sem_post(&read_it); sem_wait(&wrote_it); }
	hits = now + n; /* benign statistics */
}
static void *first(void *arg) { add(10, 1); add(10, 0); return arg; }
static void *second(void *arg) { sem_wait(&read_it); add(5, 0); sem_post(&wrote_it); return arg; }
static void lose(void) { p = 0; /* BUG */ }
int main(void)
{
	pthread_t t[2];
	sem_init(&read_it, 0, 0);
	sem_init(&wrote_it, 0, 0);
	p = &value;
	pthread_create(&t[0], 0, first, 0);
	pthread_create(&t[1], 0, second, 0);
	pthread_join(t[0], 0);
	pthread_join(t[1], 0);
	lose();
	assert(hits == "hits"[4] || p);
	return 0;
}
