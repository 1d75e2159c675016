/* SPDX-License-Identifier: MIT */
/* invalid_resize.c: A pointer into the middle of a block is given to realloc, which ends the program. */
#include <stdlib.h>

int main(void)
{
	char *p = malloc(64); /* ALLOC */

	p = realloc(p, 80); /* ALLOC */
	p = realloc(p + 16, 128); /* BAD: invalid-free */
	return p == NULL;
}
