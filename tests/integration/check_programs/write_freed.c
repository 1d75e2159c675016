/* SPDX-License-Identifier: MIT */
/* write_freed.c: A block is written to by memset after it was freed. */
#include <stdlib.h>
#include <string.h>

int main(void)
{
	char *p = malloc(3000); /* ALLOC */
	volatile size_t n = 2500;

	free(p); /* FREE */
	memset(p + 100, 7, n); /* BAD: use-after-free */
	return 0;
}
