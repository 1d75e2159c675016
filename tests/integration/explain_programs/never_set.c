/* SPDX-License-Identifier: MIT */
/* A pointer that nothing sets; that the program has no arguments is no cause. KIND: segfault */
#include <stdio.h>

static int *setting;

int main(int argc, char **argv)
{
	if (argc > 1) {
		puts(argv[1]);
		return 0;
	}
	return *setting; /* BUG */
}
