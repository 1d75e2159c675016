/* SPDX-License-Identifier: MIT */
/* The address of a variable outlives its function. KIND: segfault */
#include <stdio.h>

struct config {
	long *value;
};

static struct config *active;
static long number = 5;

static __attribute__((noinline)) void setup(void)
{
	struct config c = {&number};

	active = &c; /* BUG */
	printf("%ld\n", *active->value);
}

static __attribute__((noinline)) long other(long n)
{
	volatile long a[64];

	for (int i = 0; i < 64; i++)
		a[i] = n + i;
	return a[3];
}

int main(void)
{
	setup();
	printf("%ld\n", other(0x77777));
	return (int)*active->value;
}
