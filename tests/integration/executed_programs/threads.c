/* SPDX-License-Identifier: MIT */
/* A value that another thread computed, of what this one passed to it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
	long in, out;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	struct job *job = arg;

	pthread_mutex_lock(&lock);
	job->out = job->in * 3 + 1; /* OUT */
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	struct job *job = malloc(sizeof(*job)); /* MALLOC */
	pthread_t t;

	job->in = 7; /* SEVEN */
	pthread_create(&t, NULL, work, job); /* CREATE */
	pthread_join(t, NULL);
	printf("%ld\n", job->out); /* PRINT */
	return 0;
}
