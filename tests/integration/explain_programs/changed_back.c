/* SPDX-License-Identifier: MIT */
/* KIND: deadlock */
/* NOT-SAID: nothing has changed it since */
/* What a thread waits for is there, and is gone before the thread has looked. */
#include <pthread.h>
#include <semaphore.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int phase;
static sem_t waits;
static void *a(void *arg)
{
	pthread_mutex_lock(&lock);
	int mine = phase;
	sem_post(&waits);
	while (mine == phase)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}
static void open_it(void) { phase = 1; }
static void close_it(void) { phase = 0; /* BUG: before a has seen it */ }
int main(void)
{
	pthread_t t;
	sem_init(&waits, 0, 0);
	pthread_create(&t, 0, a, 0);
	sem_wait(&waits);
	pthread_mutex_lock(&lock);
	open_it();
	pthread_cond_broadcast(&cond);
	close_it();
	pthread_mutex_unlock(&lock);
	pthread_join(t, 0);
	return 0;
}
