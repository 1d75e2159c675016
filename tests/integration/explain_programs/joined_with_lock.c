/* SPDX-License-Identifier: MIT */
/* A way out of a function keeps the lock, and its thread waits for the end of one that wants it. KIND: deadlock */
#include <pthread.h>

#define ROOM 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int values[ROOM], count;

static int __attribute__((noinline)) add(int v)
{
	pthread_mutex_lock(&lock); /* BUG: the way out below keeps it */
	if (count == ROOM)
		return -1;
	values[count++] = v;
	pthread_mutex_unlock(&lock);
	return 0;
}

static void *reader(void *arg)
{
	int sum = 0;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < count; i++)
		sum += values[i];
	pthread_mutex_unlock(&lock);
	return sum ? arg : NULL;
}

int main(void)
{
	int failed = 0;
	pthread_t t;

	for (int i = 0; i <= ROOM; i++)
		failed += add(i);
	pthread_create(&t, NULL, reader, NULL);
	return pthread_join(t, NULL) + failed;
}
