/* SPDX-License-Identifier: MIT */
/* execs.c: a thread becomes another program, beside others. */
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "mark.h"

static pthread_barrier_t ready;
static sem_t never;
static char **args;

static void *waits(void *arg)
{
	pthread_barrier_wait(&ready);
	sem_wait(&never);
	return arg;
}

static void *execs(void *arg)
{
	char *again[] = {args[0], "again", 0};

	pthread_barrier_wait(&ready);
	mark(1);
	execv("/proc/self/exe", again);
	return arg;
}

static void *short_one(void *arg)
{
	mark(2);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[2];

	if (argc > 1) {
		pthread_create(&t[0], 0, short_one, 0);
		pthread_join(t[0], 0);
		return 0;
	}
	args = argv;
	sem_init(&never, 0, 0);
	pthread_barrier_init(&ready, 0, 2);
	pthread_create(&t[0], 0, waits, 0);
	pthread_create(&t[1], 0, execs, 0);
	pthread_join(t[0], 0);
	return 1;
}
