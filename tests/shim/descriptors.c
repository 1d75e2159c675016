/* SPDX-License-Identifier: MIT */
/*
 * descriptors.c: a program that has as many descriptors open as it may: what it does then, and for long, is recorded like all
 * else: calls, files that it maps, threads, children.
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define LIMIT 60
#define CALLS 60000 /* more than the log has room for from the start */

static unsigned long calls(unsigned n)
{
	struct timespec ts;
	unsigned long sum = 0;

	for (unsigned i = 0; i < n; i++)
		if (clock_gettime(CLOCK_MONOTONIC, &ts) == 0)
			sum++;
	return sum;
}

static void *work(void *arg)
{
	*(unsigned long *)arg = calls(CALLS);
	return NULL;
}

static void fill(int *fds)
{
	struct rlimit limit = {LIMIT, LIMIT};

	NEED(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	for (int i = 0; i < LIMIT; i++)
		fds[i] = open("data", O_RDONLY);
	CHECK(fds[LIMIT - 1] == -1 && errno == EMFILE);
	CHECK(dup(0) == -1 && errno == EMFILE);
	step("full");
}

static void map_it(int fd)
{
	char *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	NEED(p != MAP_FAILED);
	CHECK(!memcmp(p, "some bytes\n", 11));
	munmap(p, 4096);
	step("map");
}

static void child_of_it(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(calls(CALLS) == CALLS && dup(0) == -1 ? 7 : 1);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	step("child");
}

int main(void)
{
	int fds[LIMIT], fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	unsigned long sum = 0;
	pthread_t other;

	NEED(fd >= 0 && write(fd, "some bytes\n", 11) == 11);
	fill(fds);
	CHECK(calls(CALLS) == CALLS);
	step("calls");
	map_it(fd);
	NEED(pthread_create(&other, NULL, work, &sum) == 0);
	CHECK(pthread_join(other, NULL) == 0 && sum == CALLS);
	step("thread");
	child_of_it();
	for (int i = 0; i < LIMIT; i++)
		CHECK(fds[i] == -1 || close(fds[i]) == 0);
	CHECK((fd = dup(0)) >= 0 && close(fd) == 0);
	step("closed");
	return check_status();
}
