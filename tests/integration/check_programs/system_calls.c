/* SPDX-License-Identifier: MIT */
/* system_calls.c: system calls that fill more than the block has. */
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	char *p = malloc(8); /* ALLOC */
	int fd[2];

	if (pipe(fd) || write(fd[1], "0123456789abcdefghij", 20) != 20)
		return 1;
	if (read(fd[0], p, 8) != 8)
		return 1;
	if (read(fd[0], p, 12) != 12) /* BAD: outside */
		return 1;
	free(p);
	return 0;
}
