/* SPDX-License-Identifier: MIT */
/* KIND: deadlock */
/* SAYS: the wake-up came before thread 1 waited */
/* A wake-up is missed: that the one who made it has ended since then is no cause. */
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t looked, posted;
static int ready;

static void *sets(void *arg)
{
	sem_wait(&looked);
	ready = 1;
	pthread_cond_signal(&cond); /* BUG */
	sem_post(&posted);
	return arg;
}

int main(void)
{
	pthread_t t;

	sem_init(&looked, 0, 0);
	sem_init(&posted, 0, 0);
	pthread_create(&t, NULL, sets, NULL);
	pthread_mutex_lock(&lock);
	while (!ready) {
		sem_post(&looked);
		sem_wait(&posted);
		pthread_cond_wait(&cond, &lock);
	}
	pthread_mutex_unlock(&lock);
	return 0;
}
