/* SPDX-License-Identifier: MIT */
/*
 * reader.c: a thread waits in read() while another one computes, and is interrupted when the data has come. That lies in memory by
 * then, but for a replay only when read() returns: it must not be looked for at the place of the interruption.
 *
 * RECORD: --sched serial
 */
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 20

static int ask[2], answer[2];
static char buf[4096];
static atomic_int got;

/* The other process: what it sends is another text each time. */
static void answers(void)
{
	char text[sizeof(buf)];
	unsigned long n = 1;

	for (int round; read(ask[0], &round, sizeof(round)) == sizeof(round);) {
		for (int i = 0; i < 2000000; i++) /* so that the other one is at work again */
			n = n * 31 + (n >> 7);
		memset(text, 'a' + round + (n == 0), sizeof(text));
		if (write(answer[1], text, sizeof(text)) != sizeof(text))
			_exit(1);
	}
	_exit(0);
}

static void *reader(void *arg)
{
	for (int i = 1; i <= ROUNDS; i++) {
		CHECK(read(answer[0], buf, sizeof(buf)) == sizeof(buf) && buf[0] == 'a' + i && buf[4095] == 'a' + i);
		atomic_store(&got, i);
	}
	return arg;
}

int main(void)
{
	unsigned long n = 1;
	pthread_t t;
	pid_t pid;
	int status;

	NEED(pipe(ask) == 0 && pipe(answer) == 0);
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0) {
		close(ask[1]);
		answers();
	}
	NEED(pthread_create(&t, NULL, reader, NULL) == 0);
	for (int i = 1; i <= ROUNDS; i++) {
		CHECK(write(ask[1], &i, sizeof(i)) == sizeof(i));
		while (atomic_load(&got) < i)
			n = n * 31 + (n >> 7);
	}
	CHECK(n != 0 && pthread_join(t, NULL) == 0);
	close(ask[1]);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	step("a reader beside a computation");
	return check_status();
}
