/* SPDX-License-Identifier: MIT */
/*
 * output_ways.c: writes to standard output through descriptors that came there in other ways than by dup: pidfd_getfd, a message
 * between processes; and in the end one by a process that another one kills before it makes another call.
 */
#include "check.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

static void say(int fd, const char *text)
{
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

static void test_pidfd(void)
{
	int pid = (int)syscall(SYS_pidfd_open, getpid(), 0), fd = (int)syscall(SYS_pidfd_getfd, pid, 1, 0);

	if (fd >= 0) /* seccomp or Yama may refuse it */
		say(fd, "through pidfd_getfd\n");
	close(fd);
	close(pid);
}

static void send_fd(int to, int fd)
{
	char room[CMSG_SPACE(sizeof(fd))] = {0}, byte = 0;
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	CHECK(sendmsg(to, &m, 0) == 1);
}

static int receive_fd(int from)
{
	char room[CMSG_SPACE(sizeof(int))], byte;
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
	int fd;

	NEED(recvmsg(from, &m, 0) == 1 && CMSG_FIRSTHDR(&m));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static void test_message(void)
{
	int pair[2], fd;

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	send_fd(pair[0], 1);
	fd = receive_fd(pair[1]);
	say(fd, "through a message\n");
	close(fd);
}

/* The write is the last event of its process. */
static void test_killed(void)
{
	off_t before = lseek(1, 0, SEEK_CUR);
	volatile long sum = 0;
	int both[2], status;
	char byte;
	pid_t child;

	NEED(pipe(both) == 0);
	child = fork();
	if (!child) {
		struct iovec v[2] = {{"killed ", 7}, {"behind this\n", 12}};

		say(both[1], "x");
		writev(1, v, 2);
		for (;;)
			sum++;
	}
	NEED(read(both[0], &byte, 1) == 1);
	while (before >= 0 && lseek(1, 0, SEEK_CUR) == before) /* it has written by then, if this is a file */
		poll(NULL, 0, 1);
	kill(child, SIGKILL);
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

/* A fault whose signal is blocked: the kernel ends it. */
static void test_fault(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		sigset_t all;

		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		say(1, "faults behind this\n");
		*(volatile int *)8 = 0;
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

int main(void)
{
	test_pidfd();
	test_message();
	test_fault();
	test_killed();
	step("ways");
	return check_status();
}
