/* SPDX-License-Identifier: MIT */
/* double_free.c: Two owners free one block. */
#include <stdlib.h>

static void release(int **p)
{
	free(*p); /* FREE BAD: double-free */
}

int main(void)
{
	int *a = malloc(40), *b = a; /* ALLOC */

	release(&a);
	release(&b);
	return 0;
}
