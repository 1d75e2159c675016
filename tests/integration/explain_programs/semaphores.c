/* SPDX-License-Identifier: MIT */
/* Three semaphores that are used as locks, each got in an order of its own. KIND: deadlock */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static sem_t place[3];
static pthread_barrier_t all;

static void *takes(void *arg)
{
	size_t me = (size_t)arg;

	sem_wait(&place[me]);
	pthread_barrier_wait(&all);
	sem_wait(&place[(me + 1) % 3]); /* BUG */
	sem_post(&place[(me + 1) % 3]);
	sem_post(&place[me]);
	return NULL;
}

int main(void)
{
	pthread_t t[3];

	pthread_barrier_init(&all, NULL, 3);
	for (int i = 0; i < 3; i++)
		sem_init(&place[i], 0, 1);
	for (size_t i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, takes, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
