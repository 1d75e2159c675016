/* SPDX-License-Identifier: MIT */
/*
 * exec_self.c: a program that starts itself again by /proc/self/exe; the second one adds up what
 * it gets by a pipe.
 *
 * EXPECT-EXPR: sum >= 0
 * EXPECT-LINE: BUG: no check
 * EXPECT-FUNC: child
 * EXPECT-EXIT: 7
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int sum;

static int child(void)
{
	int x;

	while (read(0, &x, sizeof(x)) == sizeof(x))
		sum += x; /* BUG: no check */
	return sum < 0;
}

int main(int argc, char **argv)
{
	int fd[2], st;

	if (argc > 1 && !strcmp(argv[1], "child"))
		return child();
	if (pipe(fd))
		return 9;
	pid_t p = fork();

	if (p == 0) {
		dup2(fd[0], 0);
		close(fd[0]);
		close(fd[1]);
		execl("/proc/self/exe", argv[0], "child", (char *)NULL);
		_exit(127);
	}
	close(fd[0]);
	for (int i = 0; i < 500; i++) {
		int x = i == 400 ? -2000000000 : i;

		if (write(fd[1], &x, sizeof(x)) != sizeof(x))
			return 8;
	}
	close(fd[1]);
	waitpid(p, &st, 0);
	return WIFEXITED(st) && WEXITSTATUS(st) == 0 ? 0 : 7;
}
