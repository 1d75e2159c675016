/* SPDX-License-Identifier: MIT */
/* crashes.c: What leads to the crash is told, though the program ends there. */
#include <stdlib.h>

int main(void)
{
	int **p = malloc(2 * sizeof(*p)); /* ALLOC */
	int *q = p[3]; /* BAD: outside */

	(void)q;
	*(volatile int *)0 = 1;
	return 0;
}
