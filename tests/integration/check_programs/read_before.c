/* SPDX-License-Identifier: MIT */
/* read_before.c: A search backwards goes one element too far. */
#include <stdlib.h>
#include <string.h>

int main(void)
{
	int *p = calloc(8, sizeof(*p)), sum = 0; /* ALLOC */

	for (int i = 7; i >= -1; i--)
		sum += p[i]; /* BAD: outside */
	free(p);
	return sum < 0;
}
