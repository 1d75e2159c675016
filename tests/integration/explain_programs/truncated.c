/* SPDX-License-Identifier: MIT */
/* KIND: segfault. A file is cut while it is mapped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void empty(int fd)
{
	if (ftruncate(fd, 4096)) /* BUG */
		abort();
}

int main(void)
{
	FILE *f = tmpfile();
	char *p;

	if (!f || ftruncate(fileno(f), 16384))
		abort();
	p = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
	memset(p, 'x', 16384);
	empty(fileno(f));
	printf("%c\n", p[100]);
	for (int i = 0; i < 16384; i += 1000)
		p[i] = 'y';
	return 0;
}
