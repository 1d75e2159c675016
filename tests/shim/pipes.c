/* SPDX-License-Identifier: MIT */
/* pipes.c: pipes between threads and to a child, non-blocking, broken, with partial reads; a FIFO. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int ends[2];

static void *feed(void *arg)
{
	unsigned char block[3001];

	for (unsigned i = 0; i < 400; i++) {
		for (unsigned k = 0; k < sizeof(block); k++)
			block[k] = (unsigned char)(i + k);
		CHECK(write(ends[1], block, sizeof(block)) == sizeof(block));
	}
	close(ends[1]);
	return arg;
}

static void test_threads(void)
{
	unsigned long sum = 0, bytes = 0;
	unsigned char block[7777];
	pthread_t t;
	long n;

	NEED(pipe(ends) == 0);
	NEED(pthread_create(&t, NULL, feed, NULL) == 0);
	while ((n = read(ends[0], block, sizeof(block))) > 0) {
		bytes += (unsigned long)n;
		for (long k = 0; k < n; k++)
			sum += block[k];
	}
	pthread_join(t, NULL);
	close(ends[0]);
	CHECK(bytes == 400 * 3001);
	printf("sum %lu\n", sum);
	step("between threads");
}

static void test_child(void)
{
	int to[2], from[2], status;
	unsigned n;
	pid_t pid;

	NEED(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0) {
		close(to[1]);
		while (read(to[0], &n, sizeof(n)) == sizeof(n)) {
			n = n * n + 1;
			if (write(from[1], &n, sizeof(n)) != sizeof(n))
				_exit(1);
		}
		_exit(0);
	}
	close(to[0]), close(from[1]);
	for (unsigned i = 0; i < 1000; i++) {
		CHECK(write(to[1], &i, sizeof(i)) == sizeof(i));
		CHECK(read(from[0], &n, sizeof(n)) == sizeof(n) && n == i * i + 1);
	}
	close(to[1]);
	CHECK(read(from[0], &n, sizeof(n)) == 0);
	close(from[0]);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	step("to a child");
}

static void test_limits(void)
{
	char byte = 'x', block[4096] = "";
	long total = 0, n;

	NEED(pipe2(ends, O_NONBLOCK) == 0);
	CHECK(read(ends[0], &byte, 1) == -1 && errno == EAGAIN);
	while ((n = write(ends[1], block, sizeof(block))) > 0)
		total += n;
	CHECK(errno == EAGAIN && total >= 4096 && total == fcntl(ends[1], F_GETPIPE_SZ));
	close(ends[0]);
	signal(SIGPIPE, SIG_IGN);
	CHECK(write(ends[1], &byte, 1) == -1 && errno == EPIPE);
	signal(SIGPIPE, SIG_DFL);
	close(ends[1]);
	step("limits");
}

static void *open_reader(void *arg)
{
	int fd = open(arg, O_RDONLY);
	char text[10] = "";

	CHECK(fd >= 0 && read(fd, text, 9) == 4 && !strcmp(text, "fifo"));
	close(fd);
	return NULL;
}

static void test_fifo(void)
{
	pthread_t t;
	int fd;

	NEED(mkfifo("fifo", 0600) == 0);
	NEED(pthread_create(&t, NULL, open_reader, "fifo") == 0);
	fd = open("fifo", O_WRONLY);
	CHECK(fd >= 0 && write(fd, "fifo", 4) == 4);
	pthread_join(t, NULL);
	close(fd);
	unlink("fifo");
	step("FIFO");
}

int main(void)
{
	test_threads();
	test_child();
	test_limits();
	test_fifo();
	return check_status();
}
