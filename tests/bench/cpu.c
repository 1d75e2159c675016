/* SPDX-License-Identifier: MIT */
/* cpu.c: computes for about two seconds, and makes next to no events. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 400000000, x = 1;

	for (unsigned long i = 0; i < rounds; i++)
		x = (x ^ (x >> 29)) * 6364136223846793005ul + i;
	printf("%lu\n", x);
	return 0;
}
