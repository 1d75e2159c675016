/* SPDX-License-Identifier: MIT */
/* same_value.c: two races, of which only one shows in a value. */
#include <pthread.h>

static int done, sum;

static void *work(void *arg)
{
	done = 1; /* RACE: done */
	sum = (int)(long)arg; /* RACE: sum */
	return NULL;
}

int main(void)
{
	pthread_t t[2];

	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, (void *)(i + 5));
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return !done || !sum;
}
