/* SPDX-License-Identifier: MIT */
/*
 * fork_child.c: a child process goes wrong and crashes; its parent, whose copy stays right, ends well.
 * The second of three children is the one.
 *
 * EXPECT-EXPR: current->next != 0
 * EXPECT-LINE: BUG: ring broken
 * EXPECT-FUNC: unlink_job
 * EXPECT-EXIT: 4
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
	struct job *next;
	unsigned id, done;
};

static struct job ring[4] = {
	{&ring[1], 0, 0}, {&ring[2], 1, 0}, {&ring[3], 2, 0}, {&ring[0], 3, 0},
};
static struct job *current = &ring[0];

static __attribute__((noinline)) void unlink_job(struct job *j, int keep)
{
	if (keep)
		j->done++;
	else
		j->next = NULL; /* BUG: ring broken */
}

static __attribute__((noinline)) void serve(int child, int fd)
{
	unsigned char request;

	while (read(fd, &request, 1) == 1) {
		unlink_job(current, child != 2 || request != 233);
		if (current->next)
			current = current->next;
		else if (request % 5 == 0)
			current->next->done++;
	}
	_exit(0);
}

static pid_t start_child(int child, int *to)
{
	int fds[2];
	pid_t pid;

	if (pipe(fds))
		exit(9);
	pid = fork();
	if (pid == 0) {
		close(fds[1]);
		serve(child, fds[0]);
	}
	close(fds[0]);
	*to = fds[1];
	return pid;
}

int main(void)
{
	int crashed = 0;

	signal(SIGPIPE, SIG_IGN);
	for (int child = 1; child <= 3; child++) {
		int to, status;
		pid_t pid = start_child(child, &to);

		for (int i = 0; i < 256; i++) {
			unsigned char request = (unsigned char)i;

			if (write(to, &request, 1) != 1)
				break;
		}
		close(to);
		waitpid(pid, &status, 0);
		printf("child %d: %s\n", child, WIFSIGNALED(status) ? "crashed" : "done");
		fflush(stdout);
		crashed += WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
	}
	return crashed == 1 ? 4 : 5;
}
