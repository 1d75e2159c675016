/* SPDX-License-Identifier: MIT */
/* leaves.c: main goes first; another thread ends the process. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "mark.h"

static pthread_t first;

static void *waits(void *arg)
{
	pthread_join(first, 0);
	mark(1);
	return arg;
}

static void *ends(void *arg)
{
	pthread_t t = *(pthread_t *)arg;

	free(arg);
	pthread_join(t, 0);
	mark(2);
	exit(3);
}

int main(void)
{
	pthread_t t, *copy = malloc(sizeof(*copy));

	first = pthread_self();
	pthread_create(&t, 0, waits, 0);
	*copy = t;
	pthread_create(&t, 0, ends, copy);
	mark(4);
	pthread_exit(0);
}
