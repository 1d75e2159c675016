/* SPDX-License-Identifier: MIT */
/* main returns a status that was set somewhere. KIND: exit */
#include <stdio.h>

static int failed;

static __attribute__((noinline)) void check(int i)
{
	if (i == 3) /* BUG */
		failed = 1; /* BUG */
}

int main(void)
{
	for (int i = 0; i < 5; i++)
		check(i);
	puts("done");
	return failed;
}
