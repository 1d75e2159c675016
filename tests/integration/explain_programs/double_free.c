/* SPDX-License-Identifier: MIT */
/* The same block is freed twice: by the first one. KIND: double-free */
#include <stdio.h>
#include <stdlib.h>

static char *a, *b;

int main(void)
{
	a = malloc(40);
	b = a;
	puts("x");
	free(a); /* BUG */
	puts("y");
	free(b);
	return 0;
}
