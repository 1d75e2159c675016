/* SPDX-License-Identifier: MIT */
/* A lock is not given back on one way out, in a thread. The program locks by functions of its own, which are no cause.
 * KIND: deadlock */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, *volatile lock = &mutex;
static int room = 3;

static inline void checked_lock(pthread_mutex_t *m)
{
	if (pthread_mutex_lock(m))
		abort();
}

static void __attribute__((noipa)) safe_lock(pthread_mutex_t *m)
{
	checked_lock(m);
}

static int __attribute__((noinline)) take(void)
{
	safe_lock(lock); /* BUG: it keeps it when there is none */
	if (!room)
		return -1;
	room--;
	pthread_mutex_unlock(lock);
	return 0;
}

static void *other(void *arg)
{
	while (!take())
		;
	safe_lock(lock);
	room++;
	pthread_mutex_unlock(lock);
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, other, NULL);
	pthread_join(t, NULL);
	printf("%d\n", room);
	return 0;
}
