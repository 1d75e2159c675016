/* SPDX-License-Identifier: MIT */
/* A thread uses what its creator sets behind the creation. KIND: exit */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static int *volatile config;
static sem_t looked;
static int failed;

static void *uses(void *arg)
{
	if (!config)
		failed = 1;
	sem_post(&looked);
	return arg;
}

int main(void)
{
	static int value;
	pthread_t t;

	sem_init(&looked, 0, 0);
	pthread_create(&t, NULL, uses, NULL);
	sem_wait(&looked);
	config = &value; /* BUG */
	pthread_join(t, NULL);
	return failed;
}
