/* SPDX-License-Identifier: MIT */
/* It looks without the lock, and what it waits for comes between its look and its wait. KIND: deadlock */
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t looked, posted;
static int ready;

static void *waits(void *arg)
{
	if (!ready) { /* BUG */
		sem_post(&looked);
		sem_wait(&posted);
		pthread_mutex_lock(&lock);
		pthread_cond_wait(&cond, &lock);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

int main(void)
{
	pthread_t t;

	sem_init(&looked, 0, 0);
	sem_init(&posted, 0, 0);
	pthread_create(&t, NULL, waits, NULL);
	sem_wait(&looked);
	pthread_mutex_lock(&lock);
	ready = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
	sem_post(&posted);
	pthread_join(t, NULL);
	return 0;
}
