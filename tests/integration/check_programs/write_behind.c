/* SPDX-License-Identifier: MIT */
/* write_behind.c: A loop writes one element too many, into the part of the block that only the allocator has. */
#include <stdlib.h>

static void fill(char *p, int n)
{
	for (int i = 0; i <= n; i++)
		p[i] = (char)i; /* BAD: outside */
}

int main(void)
{
	char *p = malloc(10); /* ALLOC */

	fill(p, 10);
	free(p);
	return 0;
}
