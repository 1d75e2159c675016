/* SPDX-License-Identifier: MIT */
/*
 * unset.c: a program writes bytes of its stack that it never set: what the recorder left there must be the same in a
 * replay, behind calls of all kinds.
 */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define DEPTH 12288
#define THREADS 3
#define ROUNDS 30

/* The top of what lies below the caller's frame. */
static __attribute__((noinline)) void write_unset(int fd, size_t n)
{
	unsigned char below[DEPTH];

	__asm__ volatile("" : : "r"(below) : "memory");
	CHECK(write(fd, below + sizeof(below) - n, n) == (ssize_t)n);
}

/* A fault: what the kernel notes about it belongs to the thread, and comes up in signal frames. */
static void fault(void)
{
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(p != MAP_FAILED);
	p[5000] = 1;
	CHECK(munmap(p, 8192) == 0);
}

static void call(int which, int fd)
{
	struct timespec ts = {0, 1000};
	struct pollfd none = {-1, 0, 0};
	char some[16];

	switch (which) {
	case 0:
		CHECK(pread(fd, some, sizeof(some), 0) >= 0);
		break;
	case 1:
		CHECK(syscall(SYS_getppid) > 0);
		break;
	case 2:
		CHECK(clock_gettime(CLOCK_MONOTONIC, &ts) == 0);
		break;
	case 3:
		nanosleep(&ts, NULL);
		break;
	case 4:
		CHECK(poll(&none, 1, 1) == 0);
		break;
	case 5:
		fault();
		break;
	case 6:
		CHECK(close(open("/dev/null", O_RDONLY)) == 0);
		break;
	case 7:
		CHECK(ioctl(fd, TIOCGWINSZ, some) == -1);
		break;
	case 8:
		sched_yield();
		break;
	}
}

#define CALLS 9
static const size_t sizes[] = {512, 64, 2048, 4096, 8192};

static void *all_calls(void *arg)
{
	int fd = open(arg, O_RDWR | O_CREAT | O_TRUNC, 0600);

	NEED(fd >= 0);
	for (unsigned i = 0; i < ROUNDS; i++)
		for (int k = 0; k < CALLS; k++) {
			call(k, fd);
			write_unset(fd, sizes[i % (sizeof(sizes) / sizeof(sizes[0]))]);
		}
	CHECK(close(fd) == 0 && unlink(arg) == 0);
	return NULL;
}

static void test_child(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		all_calls("child");
		_exit(check_status());
	}
	write_unset(1, 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	all_calls("parent");
	step("processes");
}

int main(void)
{
	static char names[THREADS][8] = {"one", "two", "three"};
	pthread_t t[THREADS];

	all_calls("alone");
	step("alone");
	test_child();
	for (int i = 0; i < THREADS; i++)
		NEED(pthread_create(&t[i], NULL, all_calls, names[i]) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	step("threads");
	return check_status();
}
