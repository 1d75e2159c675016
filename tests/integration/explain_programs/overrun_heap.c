/* SPDX-License-Identifier: MIT */
/* A loop writes past the end of a block, which free finds at the next one. KIND: heap */
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	char *a = malloc(24), *b = malloc(24);

	(void)argv;
	memset(b, 1, 24);
	for (int i = 0; i < 40 + argc; i++) /* BUG */
		a[i] = (char)i;
	free(b);
	free(a);
	return 0;
}
