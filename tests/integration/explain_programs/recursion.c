/* SPDX-License-Identifier: MIT */
/* Two functions that call each other without end. KIND: stack-overflow. CFLAGS: -fno-optimize-sibling-calls -fno-inline */
#include <stdio.h>

static int odd(int n);

static int even(int n)
{
	return n == 0 ? 1 : odd(n - 1) + 1; /* BUG */
}

static int odd(int n)
{
	return n == 0 ? 0 : even(n - 1) + 1; /* BUG */
}

int main(int argc, char **argv)
{
	(void)argv;
	printf("%d\n", even(-argc));
	return 0;
}
