/* SPDX-License-Identifier: MIT */
/* A null pointer stays in a register over a call: the function that was called does not use it, which the compiler knows. It is no
 * argument of that call. KIND: segfault */ /* NOT-SAID: was passed */
#include <stdio.h>

struct point {
	long x, y;
};

static struct point origin, *volatile last = &origin;

static long __attribute__((noinline)) fill(long n)
{
	volatile long sum = n;

	for (int i = 0; i < 3; i++)
		sum += i;
	return sum;
}

int main(void)
{
	struct point *p;
	long n;

	puts("begin");
	last = NULL; /* BUG */
	p = last;
	n = fill(100);
	return (int)(p->y + n);
}
