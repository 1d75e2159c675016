/* SPDX-License-Identifier: MIT */
/*
 * What a thread waits for comes while it waits, and nobody wakes it: what is signalled is another condition, which has the
 * same hash (rlog_hash_addr). KIND: deadlock
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_cond_t others[4096];
static int items, done;
static unsigned char hash(const void *p)
{
	uint64_t v = (uintptr_t)p;

	return (unsigned char)(v >> 3 ^ v >> 11 ^ v >> 19 ^ v >> 27);
}
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
	for (int i = 0; i < 4096; i++)
		if (hash(&others[i]) == hash(&c)) {
			pthread_cond_signal(&others[i]);
			break;
		}
	pthread_mutex_unlock(&m);
	pthread_join(t, NULL);
	return 0;
}
