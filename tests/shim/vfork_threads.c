/* SPDX-License-Identifier: MIT */
/* vfork_threads.c: threads with little on their stacks, which vfork and spawn at the same time, and go on. */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static pthread_barrier_t both;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void add(pid_t pid)
{
	int status = -1;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	pthread_mutex_lock(&lock);
	sum += WEXITSTATUS(status);
	pthread_mutex_unlock(&lock);
}

static void *spawns(void *arg)
{
	char *argv[] = {"sh", "-c", "exit 40", NULL};
	pid_t pid;

	pthread_barrier_wait(&both);
	for (int i = 0; i < 2; i++) {
		pid = vfork();
		if (!pid) {
			execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
			_exit(9);
		}
		add(pid);
	}
	CHECK(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) == 0);
	add(pid);
	CHECK(posix_spawn(&pid, "/no/such/program", NULL, NULL, argv, environ) == ENOENT);
	return arg;
}

static volatile int written;
static char stack[65536] __attribute__((aligned(16)));

static int writes(void *arg)
{
	written = 6;
	*(volatile int *)arg = 7;
	return 5; /* to glibc, which ends the process by exit, not exit_group */
}

/* No thread is left that could write meanwhile. */
static void test_written(void)
{
	volatile int *on_heap = malloc(sizeof(int));
	int status = -1;
	pid_t pid;

	*on_heap = 0;
	pid = clone(writes, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)on_heap);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5);
	CHECK(written == 6 && *on_heap == 7);
	free((void *)on_heap);
	step("written");
}

int main(void)
{
	pthread_t t[2];

	pthread_barrier_init(&both, NULL, 2);
	for (int i = 0; i < 2; i++)
		NEED(pthread_create(&t[i], NULL, spawns, NULL) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(sum == 92);
	step("spawned by threads");
	test_written();
	return check_status();
}
