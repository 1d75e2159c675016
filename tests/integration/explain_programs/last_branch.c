/* SPDX-License-Identifier: MIT */
/* No condition stands around the statement: the last branch before it has decided. KIND: illegal */
#include <stdio.h>
static volatile int mode = 1;
static __attribute__((noinline)) void set(int m)
{
	mode = m; /* BUG */
}
static __attribute__((noinline)) int apply(int v)
{
	if (mode == 1)
		return v + 1;
	if (mode == 2)
		return v * 2;
	__builtin_trap();
}
int main(void)
{
	printf("%d\n", apply(1));
	set(5); /* BUG: there is no such mode */
	puts("set");
	printf("%d\n", apply(1));
	return 0;
}
