/* SPDX-License-Identifier: MIT */
/* KIND: assertion */
/* SAYS: set table[1].users here, after thread 2 had changed it */
/* A count is set to 0 by another thread while one has counted itself in. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

static struct {
	int users, rounds;
} table[2];
static sem_t in, cleared;

static void *uses(void *arg)
{
	table[1].users++;
	sem_post(&in);
	sem_wait(&cleared);
	table[1].users--;
	assert(table[1].users >= 0);
	return arg;
}

int main(void)
{
	pthread_t t;

	sem_init(&in, 0, 0);
	sem_init(&cleared, 0, 0);
	pthread_create(&t, NULL, uses, NULL);
	sem_wait(&in);
	for (int i = 0; i < 2; i++)
		memset(&table[i], 0, sizeof(table[i])); /* BUG */
	sem_post(&cleared);
	pthread_join(t, NULL);
	return 0;
}
