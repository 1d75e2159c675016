/* SPDX-License-Identifier: MIT */
/* threads.c: A thread uses a block that another one has freed. */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int freed;
static int *shared;

static void *reader(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	while (!freed)
		pthread_cond_wait(&changed, &lock);
	shared[2]++; /* BAD: use-after-free */
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t t;

	shared = calloc(4, sizeof(*shared)); /* ALLOC */
	pthread_create(&t, NULL, reader, NULL);
	pthread_mutex_lock(&lock);
	free(shared); /* FREE */
	freed = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(t, NULL);
	return 0;
}
