/* SPDX-License-Identifier: MIT */
/* An index that came from a file, and that nobody checked. KIND: segfault */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int table[16];
static volatile long index_of;

int main(void)
{
	int fd[2];
	long v = 0x3000000000l;

	if (pipe(fd) || write(fd[1], &v, sizeof(v)) != sizeof(v))
		return 2;
	if (read(fd[0], (void *)&index_of, sizeof(index_of)) != sizeof(index_of)) /* BUG */
		return 2;
	puts("a");
	return table[index_of];
}
