/* SPDX-License-Identifier: MIT */
/* What a thread waits for comes while it waits, and nobody wakes it. KIND: deadlock */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int items, done;
static void *consumer(void *arg)
{
	pthread_mutex_lock(&m);
	while (!done || items) {
		while (!items && !done)
			pthread_cond_wait(&c, &m);
		if (items)
			items--;
	}
	pthread_mutex_unlock(&m);
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, consumer, NULL);
	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&m);
		items++;
		pthread_cond_signal(&c);
		pthread_mutex_unlock(&m);
	}
	while (1) {
		int n;
		pthread_mutex_lock(&m);
		n = items;
		pthread_mutex_unlock(&m);
		if (!n)
			break;
		sched_yield();
	}
	pthread_mutex_lock(&m);
	done = 1; /* BUG */
	pthread_mutex_unlock(&m);
	pthread_join(t, NULL);
	return 0;
}
