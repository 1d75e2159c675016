/* SPDX-License-Identifier: MIT */
/* What leads to the length that a function of libc's has measured ends at the statement that asked for it. KIND: divide */
#include <stdio.h>
#include <string.h>

static int __attribute__((noinline)) share(unsigned long bytes)
{
	return 64 / (int)bytes;
}

int main(int argc, char **argv)
{
	char name[2][16] = {"longer", ""};
	int n = 0;

	(void)argv;
	for (int i = 0; i < 2; i++)
		n += share(strlen(name[i * argc])); /* BUG: without the byte at its end */
	printf("%d\n", n);
	return 0;
}
