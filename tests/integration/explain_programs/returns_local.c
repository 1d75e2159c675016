/* SPDX-License-Identifier: MIT */
/* A function returns the address of its own variable, for which the optimizing compiler returns 0; it has left the function's arguments out, too. KIND: segfault */
#include <stdio.h>
#include <string.h>

struct point {
	long x, y;
	char *label;
};

static struct point *last;

static struct point *same(struct point *p)
{
	return p;
}

static struct point *__attribute__((noinline)) make(long x, long y)
{
	struct point p = {x, y, "origin"};

	return same(&p); /* BUG */
}

static long __attribute__((noinline)) fill(long n)
{
	volatile long a[96];
	long sum = 0;

	for (int i = 0; i < 96; i++)
		a[i] = n + i;
	for (int i = 0; i < 96; i++)
		sum += a[i];
	return sum;
}

int main(void)
{
	long n;

	last = make(3, 4);
	n = fill(100);
	printf("%zu %ld\n", strlen(last->label), n);
	return 0;
}
