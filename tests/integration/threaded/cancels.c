/* SPDX-License-Identifier: MIT */
/* cancels.c: threads cancelled in a condition wait, in a semaphore, and when they allow it. */
#include <pthread.h>
#include <semaphore.h>

#include "mark.h"

static sem_t ready, never;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;

static void clean(void *arg)
{
	mark((long)arg);
	pthread_mutex_unlock(&lock);
}

static void *in_cond(void *arg)
{
	pthread_mutex_lock(&lock);
	pthread_cleanup_push(clean, (void *)7);
	sem_post(&ready);
	for (;;)
		pthread_cond_wait(&more, &lock);
	pthread_cleanup_pop(0);
	return arg;
}

static void *in_sem(void *arg)
{
	sem_post(&ready);
	sem_wait(&never);
	return arg;
}

static void *when_told(void *arg)
{
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	sem_post(&ready);
	sem_wait(&never);
	mark(3);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
	pthread_testcancel();
	return arg;
}

int main(void)
{
	pthread_t t[3];
	void *got;

	sem_init(&ready, 0, 0);
	sem_init(&never, 0, 0);
	pthread_create(&t[0], 0, in_cond, 0);
	pthread_create(&t[1], 0, in_sem, 0);
	sem_wait(&ready);
	sem_wait(&ready);
	for (int i = 0; i < 2; i++) {
		pthread_cancel(t[i]);
		pthread_join(t[i], &got);
		mark(got == PTHREAD_CANCELED);
	}
	pthread_create(&t[2], 0, when_told, 0);
	sem_wait(&ready);
	pthread_cancel(t[2]);
	sem_post(&never);
	pthread_join(t[2], &got);
	return got != PTHREAD_CANCELED;
}
