/* SPDX-License-Identifier: MIT */
/*
 * good_threads.c: Blocks go from thread to thread, and signals come in between. One thread is detached: libc frees what
 * it has for it after the thread's last event.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *box[4];
static volatile int handled;

static void handler(int sig)
{
	char local[64];

	memset(local, sig, sizeof(local));
	handled += local[1] == sig;
}

static void *work(void *arg)
{
	for (int i = 0; i < 30; i++) {
		char *p = malloc((size_t)(i + 1));

		memset(p, i, (size_t)(i + 1));
		pthread_mutex_lock(&lock);
		free(box[i % 4]);
		box[i % 4] = p;
		pthread_mutex_unlock(&lock);
		if (i == 10)
			raise(SIGUSR1);
	}
	return arg;
}

static void *detached(void *arg)
{
	pthread_detach(pthread_self());
	pthread_mutex_lock(&lock);
	handled++;
	pthread_mutex_unlock(&lock);
	return arg;
}

static int count(void)
{
	int n;

	pthread_mutex_lock(&lock);
	n = handled;
	pthread_mutex_unlock(&lock);
	return n;
}

int main(void)
{
	pthread_t t[3], other;

	signal(SIGUSR1, handler);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 4; i++)
		free(box[i]);
	pthread_create(&other, NULL, detached, NULL);
	while (count() != 4)
		sched_yield();
	return handled != 4;
}
