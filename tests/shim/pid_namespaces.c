/* SPDX-License-Identifier: MIT */
/*
 * pid_namespaces.c: processes that are the first ones of PID namespaces: their PIDs and those of their children, threads,
 * started programs and orphans, and what is known of all that outside. It needs root. NONDET-OUTPUT
 */
#include "check.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int ended(pid_t pid)
{
	int status = -1;

	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void *tell_tid(void *arg)
{
	pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

	CHECK(pthread_mutex_lock(&m) == 0 && m.__data.__owner == gettid());
	*(pid_t *)arg = gettid();
	return NULL;
}

/* libc keeps the numbers of threads in memory, too. */
static void inner_threads(void)
{
	pthread_t t[2];
	pid_t tid[2];

	for (int i = 0; i < 2; i++)
		NEED(pthread_create(&t[i], NULL, tell_tid, &tid[i]) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(t[i], NULL) == 0 && tid[i] > 1 && tid[i] < 20);
	CHECK(tid[0] != tid[1] && raise(0) == 0);
}

static int first_process(void)
{
	char *argv[] = {"pid_namespaces", "started", NULL};
	pid_t pid, first = 0;
	int status;

	CHECK(getpid() == 1 && getppid() == 0);
	for (int i = 0; i < 3; i++) {
		pid = fork();
		if (pid == 0)
			_exit(getppid() == 1 && getpid() == 2 + i ? 20 : 21);
		CHECK(pid == 2 + i && ended(pid) == 20);
	}
	inner_threads();
	pid = fork();
	if (pid == 0) {
		if (fork() == 0)
			_exit(22);
		_exit(23);
	}
	CHECK(ended(pid) == 23);
	CHECK((first = wait(&status)) > pid && WEXITSTATUS(status) == 22); /* an orphan */
	pid = fork();
	if (pid == 0) {
		execv("/proc/self/exe", argv);
		_exit(1);
	}
	CHECK(ended(pid) == 24);
	CHECK(wait(NULL) == -1 && errno == ECHILD);
	if (!check_status())
		execv("/proc/self/exe", argv);
	return 1;
}

static void test_first(void)
{
	pid_t pid;

	CHECK(unshare(CLONE_NEWPID) == 0);
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0)
		_exit(first_process());
	CHECK(pid > 1 && ended(pid) == 24);
	CHECK(fork() == -1 && errno == ENOMEM); /* it has ended with its first process */
	step("the first process and its children");
}

static void test_clone(int own)
{
	struct clone_args c = {.flags = CLONE_NEWPID, .exit_signal = SIGCHLD};
	int ends[2], inner;
	pid_t pid;

	CHECK(setns(own, CLONE_NEWPID) == 0);
	NEED(pipe(ends) == 0);
	pid = (pid_t)syscall(SYS_clone3, &c, sizeof(c));
	NEED(pid >= 0);
	if (pid == 0) {
		/* one inside of another, and one that does not end by itself */
		NEED(unshare(CLONE_NEWPID) == 0);
		inner = fork();
		if (inner == 0) {
			inner = getpid() == 1 && getppid() == 0;
			CHECK(write(ends[1], &inner, sizeof(inner)) == sizeof(inner));
			for (;;)
				pause();
		}
		CHECK(inner == 2 && getpid() == 1);
		CHECK(write(ends[1], &inner, sizeof(inner)) == sizeof(inner));
		_exit(ended(inner));
	}
	for (int i = 0; i < 2; i++)
		CHECK(read(ends[0], &inner, sizeof(inner)) == sizeof(inner) && (inner == 1 || inner == 2));
	CHECK(kill(pid, SIGKILL) == 0 && ended(pid) == 1000 + SIGKILL);
	close(ends[1]);
	CHECK(read(ends[0], &inner, 1) == 0); /* all have ended */
	close(ends[0]);
	pid = fork();
	if (pid == 0)
		_exit(getpid() > 1 ? 25 : 26);
	CHECK(ended(pid) == 25);
	step("by clone, and one inside of another");
}

int main(int argc, char **argv)
{
	int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);

	(void)argv;
	if (argc > 1)
		return 24;
	if (getuid() != 0) {
		puts("no root");
		return 0;
	}
	NEED(own >= 0);
	test_first();
	test_clone(own);
	CHECK(close(own) == 0);
	return check_status();
}
