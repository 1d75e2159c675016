/* SPDX-License-Identifier: MIT */
/* invalid_free.c: A pointer into the middle of a block is freed. */
#include <stdlib.h>

int main(void)
{
	char *p = malloc(64); /* ALLOC */

	for (int i = 0; i < 16; i++)
		p++;
	free(p); /* BAD: invalid-free */
	return 0;
}
