/* SPDX-License-Identifier: MIT */
/* fork_threads.c: forks out of a program with threads; children start threads of their own. */
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int stop;
static atomic_int prepared, in_parent, in_child;
static unsigned long work;

static void *worker(void *arg)
{
	for (int stopped = 0; !stopped;) {
		pthread_mutex_lock(&m);
		work++;
		free(malloc(work % 5000));
		stopped = stop;
		pthread_mutex_unlock(&m);
	}
	return arg;
}

static void before(void)
{
	pthread_mutex_lock(&m);
	prepared++;
}

static void after_parent(void)
{
	in_parent++;
	pthread_mutex_unlock(&m);
}

static void after_child(void)
{
	in_child++;
	pthread_mutex_unlock(&m);
}

static void *child_thread(void *arg)
{
	void *p = malloc(100);

	pthread_mutex_lock(&m);
	*(int *)arg += 1;
	pthread_mutex_unlock(&m);
	free(p);
	return NULL;
}

static int child(void)
{
	pthread_t t[3];
	int count = 0;

	if (in_child != 1 || in_parent == prepared)
		return 1;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, child_thread, &count))
			return 2;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return count == 3 ? 0 : 3;
}

int main(void)
{
	pthread_t t[2];

	CHECK(pthread_atfork(before, after_parent, after_child) == 0);
	for (int i = 0; i < 2; i++)
		NEED(pthread_create(&t[i], NULL, worker, NULL) == 0);
	for (int i = 0; i < 10; i++) {
		int status;
		pid_t pid = fork();

		NEED(pid >= 0);
		if (pid == 0)
			_exit(child());
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	pthread_mutex_lock(&m);
	stop = 1;
	pthread_mutex_unlock(&m);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	CHECK(prepared == 10 && in_parent == 10 && in_child == 0);
	step("forks with threads");
	return check_status();
}
