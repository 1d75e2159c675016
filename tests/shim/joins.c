/* SPDX-License-Identifier: MIT */
/*
 * joins.c: a short wait that expires makes the recorder let one thread run at a time from there on. A thread that takes
 * a mutex just then waits for its turn before it goes on: what it writes behind the mutex comes after what the others
 * read meanwhile. What is printed differs from run to run.
 * NONDET-OUTPUT
 */
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

#define PROCESSES 6
#define WORKERS 2
#define COMPUTES 30000

static pthread_mutex_t lock[WORKERS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static volatile unsigned long done[WORKERS];
static volatile int over;

static void *work(void *arg)
{
	unsigned long i = (unsigned long)arg;

	for (int stop = 0; !stop;) {
		for (volatile int n = 0; n < COMPUTES; n++)
			;
		pthread_mutex_lock(&lock[i]);
		done[i]++;
		stop = over;
		pthread_mutex_unlock(&lock[i]);
	}
	return 0;
}

/* What the workers have done, read without their locks, before this thread comes to another event. */
static void wait_shortly(unsigned long *seen)
{
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 3000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&m);
	while (pthread_cond_timedwait(&c, &m, &until) == 0)
		;
	for (int i = 0; i < WORKERS; i++)
		seen[i] = done[i];
	pthread_mutex_unlock(&m);
}

static int child(void)
{
	unsigned long seen[WORKERS];
	pthread_t t[WORKERS];

	for (unsigned long i = 0; i < WORKERS; i++)
		NEED(pthread_create(&t[i], 0, work, (void *)i) == 0);
	wait_shortly(seen);
	printf("# %lu %lu\n", seen[0], seen[1]);
	fflush(stdout);
	for (int i = 0; i < WORKERS; i++) {
		pthread_mutex_lock(&lock[i]);
		over = 1;
		pthread_mutex_unlock(&lock[i]);
	}
	for (int i = 0; i < WORKERS; i++)
		CHECK(pthread_join(t[i], 0) == 0);
	return check_status();
}

int main(void)
{
	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();
		int status;

		NEED(pid >= 0);
		if (!pid)
			exit(child());
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	step("joins");
	return check_status();
}
