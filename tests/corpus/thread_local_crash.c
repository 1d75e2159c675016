/* SPDX-License-Identifier: MIT */
/*
 * thread_local_crash.c: three threads run the same function; in the one that crashes a local variable went wrong.
 *
 * EXPECT-EXPR: left >= 0
 * EXPECT-LINE: BUG: by two
 * EXPECT-EXIT: 139
 * EXPECT-CFLAGS: -pthread
 */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int budget = 500;
static int *nothing;

static void *worker(void *arg)
{
	volatile int left = 40;
	long id = (long)arg;

	for (int i = 0; i < 60; i++) {
		pthread_mutex_lock(&lock);
		budget--;
		pthread_mutex_unlock(&lock);
		if (id == 2)
			left -= 2; /* BUG: by two */
		if (left < -30)
			return (void *)(long)*nothing;
	}
	return NULL;
}

int main(void)
{
	pthread_t t[3];

	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
