/* SPDX-License-Identifier: MIT */
/* forks.c: a thread forks beside another one; the child makes a thread. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mark.h"

static pthread_barrier_t ready, done;

static void before(void)
{
	mark(1);
}

static void *waits(void *arg)
{
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&done);
	return arg;
}

static void *forks(void *arg)
{
	pid_t pid = fork();
	int status;

	mark(100);
	if (!pid) {
		pthread_t t;

		pthread_barrier_init(&ready, 0, 1);
		pthread_barrier_init(&done, 0, 1);
		pthread_create(&t, 0, waits, 0);
		pthread_join(t, 0);
		_exit(7);
	}
	waitpid(pid, &status, 0);
	mark(WEXITSTATUS(status));
	return arg;
}

int main(void)
{
	pthread_t t[2];

	pthread_atfork(before, before, before);
	pthread_barrier_init(&ready, 0, 2);
	pthread_barrier_init(&done, 0, 2);
	pthread_create(&t[0], 0, waits, 0);
	pthread_barrier_wait(&ready);
	pthread_create(&t[1], 0, forks, 0);
	pthread_join(t[1], 0);
	pthread_barrier_wait(&done);
	pthread_join(t[0], 0);
	return 0;
}
