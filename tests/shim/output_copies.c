/* SPDX-License-Identifier: MIT */
/*
 * output_copies.c: what reaches standard output by calls other than write, whatever that is: a file, and by ARGUMENT
 * (tests/integration/commands) a pipe or a socket. Each call's bytes say which it was; refused ones write nothing.
 */
#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define LARGE 300000

static int source;

static void say(const char *text)
{
	CHECK(write(1, text, strlen(text)) == (ssize_t)strlen(text));
}

static void fill_source(void)
{
	char line[16];

	source = open("source", O_RDWR | O_CREAT | O_TRUNC, 0600);
	NEED(source >= 0);
	for (int i = 0; i < LARGE / 10; i++) {
		snprintf(line, sizeof(line), "%08d\n\n", i);
		NEED(write(source, line, 10) == 10);
	}
}

static void at_end(void)
{
	lseek(1, 0, SEEK_END);
}

static void test_writes(void)
{
	struct iovec v[2] = {{"pwritev ", 8}, {"two\n", 4}};
	off_t end = lseek(1, 0, SEEK_END);

	say("pwrite\n");
	if (end < 0)
		return;
	end = lseek(1, 0, SEEK_END);
	CHECK(pwrite(1, "pwrite itself\n", 14, end) == 14);
	CHECK(pwritev(1, v, 2, end + 14) == 12);
	CHECK(pwritev2(1, v, 2, end + 26, 0) == 12);
	at_end();
	CHECK(pwritev2(1, v, 2, -1, 0) == 12);
}

static void test_files(void)
{
	off_t at = 1000;
	loff_t in = 2000;
	long n;

	say("sendfile\n");
	lseek(source, 0, SEEK_SET);
	CHECK(sendfile(1, source, NULL, 95) == 95);
	CHECK(sendfile(1, source, &at, 200) == 200 && at == 1200);
	CHECK(sendfile(1, source, NULL, 5) == 5);
	for (at = 0; at < LARGE && (n = sendfile(1, source, &at, (size_t)(LARGE - at))) > 0;)
		;
	say("copy_file_range\n");
	copy_file_range(source, &in, 1, NULL, 300, 0); /* where that is no file: refused */
	say("splice of a file\n");
	in = 50;
	splice(source, &in, 1, NULL, 100, 0);
}

static void test_pipes(void)
{
	struct iovec v = {"vmsplice itself\n", 16};
	int p[2];

	NEED(pipe(p) == 0);
	say("splice\n");
	CHECK(write(p[1], "through a pipe\nand the rest\n", 28) == 28);
	CHECK(splice(p[0], NULL, 1, NULL, 15, 0) == 15);
	say("between\n");
	CHECK(splice(p[0], NULL, 1, NULL, 1 << 20, SPLICE_F_MOVE) == 13);
	CHECK(splice(p[0], NULL, 1, NULL, 10, SPLICE_F_NONBLOCK) == -1 && errno == EAGAIN);
	CHECK(write(p[1], "tee itself\n", 11) == 11);
	say("tee\n");
	tee(p[0], 1, 100, 0);
	CHECK(splice(p[0], NULL, 1, NULL, 100, 0) == 11);
	say("vmsplice\n");
	vmsplice(1, &v, 1, 0);
	close(p[1]);
	CHECK(splice(p[0], NULL, 1, NULL, 100, 0) == 0);
	close(p[0]);
}

/* It waits for the pipe, and is interrupted meanwhile. */
static void on_alarm(int sig)
{
	(void)sig;
}

static void test_waiting(void)
{
	struct sigaction sa = {.sa_handler = on_alarm};
	int p[2], status;
	pid_t child;

	NEED(pipe(p) == 0);
	sigaction(SIGALRM, &sa, NULL);
	ualarm(20000, 20000); /* the first may come before it waits */
	CHECK(splice(p[0], NULL, 1, NULL, 100, 0) == -1 && errno == EINTR);
	ualarm(0, 0);
	child = fork();
	if (!child) {
		usleep(20000);
		_exit(write(p[1], "waited for\n", 11) != 11);
	}
	CHECK(splice(p[0], NULL, 1, NULL, 100, 0) == 11);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	close(p[0]);
	close(p[1]);
}

static void test_sockets(void)
{
	struct iovec v[2] = {{"sendmsg ", 8}, {"itself\n", 7}};
	struct mmsghdr m[2] = {{.msg_hdr = {.msg_iov = v, .msg_iovlen = 2}}, {.msg_hdr = {.msg_iov = v + 1, .msg_iovlen = 1}}};
	int s[2];

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	say("sockets\n");
	CHECK(write(s[1], "of a socket\n", 12) == 12);
	splice(s[0], NULL, 1, NULL, 100, 0);
	send(1, "send itself\n", 12, 0);
	sendmsg(1, &m[0].msg_hdr, 0);
	sendmmsg(1, m, 2, 0);
	close(s[0]);
	close(s[1]);
}

static void test_error(void)
{
	off_t at = 30;
	int err = dup(2);

	CHECK(err >= 0);
	if (lseek(1, 0, SEEK_CUR) < 0)
		CHECK(sendfile(err, source, &at, 10) == 10);
	close(err);
}

int main(void)
{
	at_end();
	fill_source();
	test_writes();
	test_files();
	test_pipes();
	test_waiting();
	test_sockets();
	test_error();
	say("end\n");
	return check_status();
}
