/* SPDX-License-Identifier: MIT */
/* resized.c: A block is made smaller, and used as before. */
#include <stdlib.h>

int main(void)
{
	int *p = malloc(20 * sizeof(*p)); /* ALLOC */

	p = realloc(p, 15 * sizeof(*p));
	for (int i = 0; i < 16; i++)
		p[i] = i; /* BAD: outside */
	free(p);
	return 0;
}
