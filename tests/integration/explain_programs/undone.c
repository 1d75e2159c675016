/* SPDX-License-Identifier: MIT */
/* What it waits for had come, and it is itself who has forgotten it. KIND: deadlock */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int is_set;

static void *sets(void *arg)
{
	pthread_mutex_lock(&lock);
	is_set = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, sets, NULL);
	pthread_join(t, NULL);
	pthread_mutex_lock(&lock);
	is_set = 0; /* BUG */
	while (!is_set)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
	return 0;
}
