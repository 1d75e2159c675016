/* SPDX-License-Identifier: MIT */
/* KIND: exit */
/* SAYS: wrote missing here, between the read and the write of thread */
/* What the program exits with was made of a value that another thread has changed meanwhile: the change is lost. */
#include <pthread.h>
#include <semaphore.h>

static long missing = 3;
static sem_t read_it, wrote_it;

static void *slow(void *arg)
{
	long now = missing;

	sem_post(&read_it);
	sem_wait(&wrote_it);
	missing = now - 1;
	return arg;
}

static void *quick(void *arg)
{
	sem_wait(&read_it);
	missing -= 2; /* BUG */
	sem_post(&wrote_it);
	return arg;
}

int main(void)
{
	pthread_t t[2];

	sem_init(&read_it, 0, 0);
	sem_init(&wrote_it, 0, 0);
	pthread_create(&t[0], NULL, slow, NULL);
	pthread_create(&t[1], NULL, quick, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return (int)missing;
}
