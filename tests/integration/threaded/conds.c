/* SPDX-License-Identifier: MIT */
/* conds.c: condition variables, a barrier, a read-write lock, a semaphore, and a wait whose time is over. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include "mark.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t both;
static sem_t slots;
static int turn, value;

static void *plays(void *arg)
{
	int me = (int)(long)arg;

	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&lock);
		while (turn != me)
			pthread_cond_wait(&more, &lock);
		turn = !me;
		mark(me + 1);
		pthread_cond_signal(&more);
		pthread_mutex_unlock(&lock);
	}
	pthread_barrier_wait(&both);
	pthread_rwlock_rdlock(&rw);
	mark(value);
	pthread_rwlock_unlock(&rw);
	sem_wait(&slots);
	pthread_rwlock_wrlock(&rw);
	value++;
	pthread_rwlock_unlock(&rw);
	sem_post(&slots);
	return arg;
}

int main(void)
{
	struct timespec until;
	pthread_t t[2];

	pthread_barrier_init(&both, 0, 2);
	sem_init(&slots, 0, 1);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, plays, (void *)i);
	clock_gettime(CLOCK_REALTIME, &until);
	pthread_mutex_lock(&lock);
	while (turn != 5 && !pthread_cond_timedwait(&more, &lock, &until))
		;
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return value != 2;
}
