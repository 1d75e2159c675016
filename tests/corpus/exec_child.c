/* SPDX-License-Identifier: MIT */
/*
 * exec_child.c: the program starts itself again as a worker, and the worker goes wrong: a rate of 0 in its
 * configuration, which it takes for a divisor later.
 *
 * EXPECT-EXPR: worker_rate > 0
 * EXPECT-LINE: BUG: 0 is accepted
 * EXPECT-FUNC: configure
 * EXPECT-EXIT: 136
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int worker_rate = 100;

static __attribute__((noinline)) void configure(const char *line)
{
	worker_rate = atoi(line); /* BUG: 0 is accepted */
}

static int worker(void)
{
	char line[64];
	unsigned long ticks = 0;

	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, "rate ", 5))
			configure(line + 5);
		else if (!strncmp(line, "tick", 4))
			ticks += 1000 / worker_rate;
	}
	printf("%lu\n", ticks);
	return 0;
}

static void feed(FILE *to)
{
	for (int i = 0; i < 500; i++) {
		if (i % 10 == 0)
			fprintf(to, "rate %d\n", (i + 30) % 400);
		else if (i % 7 == 0 || i > 375)
			fprintf(to, "tick\n");
		else
			fprintf(to, "note %d\n", i);
	}
	fclose(to);
}

int main(int argc, char **argv)
{
	int fds[2], status;
	pid_t pid;

	if (argc > 1)
		return worker();
	signal(SIGPIPE, SIG_IGN);
	if (pipe(fds))
		return 9;
	pid = fork();
	if (pid == 0) {
		dup2(fds[0], 0);
		close(fds[0]);
		close(fds[1]);
		execl(argv[0], argv[0], "worker", (char *)NULL);
		_exit(127);
	}
	close(fds[0]);
	feed(fdopen(fds[1], "w"));
	waitpid(pid, &status, 0);
	printf("worker: status %d\n", status);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
