/* SPDX-License-Identifier: MIT */
/*
 * One thread waits for work, of which there is none more, and another one for the end of all work, of which nobody tells
 * it. KIND: deadlock
 */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, none_open = PTHREAD_COND_INITIALIZER;
static int todo, open_jobs, done;

static void *worker(void *arg)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!todo)
			pthread_cond_wait(&more, &lock);
		todo--;
		done++;
		open_jobs--; /* BUG: nobody is told */
	}
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, worker, NULL);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 3; i++) {
		todo++;
		open_jobs++;
		pthread_cond_signal(&more);
	}
	while (open_jobs)
		pthread_cond_wait(&none_open, &lock);
	pthread_mutex_unlock(&lock);
	return done != 3;
}
