/* SPDX-License-Identifier: MIT */
/* Of a few buffers, which a semaphore counts, a bad request keeps one each time. KIND: deadlock */
#include <pthread.h>
#include <semaphore.h>

static sem_t units;

static int __attribute__((noinline)) request(int size)
{
	sem_wait(&units); /* BUG: a bad request does not give it back */
	if (size > 10)
		return -1;
	sem_post(&units);
	return size;
}

static void *client(void *arg)
{
	int sum = 0;

	for (int i = 0; i < 8; i++)
		sum += request(i % 2 ? 20 : i);
	return sum ? arg : NULL;
}

int main(void)
{
	pthread_t t;

	sem_init(&units, 0, 3);
	pthread_create(&t, NULL, client, NULL);
	return pthread_join(t, NULL);
}
