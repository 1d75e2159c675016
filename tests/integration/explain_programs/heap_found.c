/* SPDX-License-Identifier: MIT */
/* A loop that goes up to the wrong number writes past the end of the last block; printf's malloc finds that. KIND: heap */
#include <stdio.h>
#include <stdlib.h>

static int used = 6, most = 16;

int main(void)
{
	void **table = malloc(6 * sizeof(*table));
	int i;

	for (i = 0; i < used; i++)
		table[i] = &used;
	for (; i < most; i++) /* BUG */
		table[i] = &most;
	printf("%d\n", i);
	return 0;
}
