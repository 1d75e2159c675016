/* SPDX-License-Identifier: MIT */
/* joins.c: threads that return, leave and go on their own. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "mark.h"

static pthread_barrier_t all;
static sem_t gone;

static void *returns(void *arg)
{
	mark((long)arg);
	pthread_barrier_wait(&all);
	return arg;
}

static void *leaves(void *arg)
{
	mark(10);
	pthread_barrier_wait(&all);
	pthread_exit(arg);
}

static void *goes(void *arg)
{
	mark(100);
	sem_post(&gone);
	return arg;
}

int main(void)
{
	pthread_t t[3];
	void *got[2];

	pthread_barrier_init(&all, 0, 3);
	sem_init(&gone, 0, 0);
	pthread_create(&t[0], 0, returns, (void *)1);
	pthread_create(&t[1], 0, leaves, (void *)2);
	pthread_create(&t[2], 0, goes, 0);
	pthread_detach(t[2]);
	pthread_barrier_wait(&all);
	pthread_join(t[1], &got[1]);
	pthread_join(t[0], &got[0]);
	sem_wait(&gone);
	mark(1000);
	return got[0] != (void *)1 || got[1] != (void *)2;
}
