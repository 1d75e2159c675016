/* SPDX-License-Identifier: MIT */
/* The divisor is what a function made of a string. KIND: divide */
#include <stdio.h>
#include <stdlib.h>

static volatile int rate = 7;

static __attribute__((noinline)) void set_rate(const char *s)
{
	rate = atoi(s); /* BUG */
}

int main(void)
{
	volatile int total = 1000;

	printf("%d\n", total / rate);
	set_rate("x");
	printf("%d\n", total / rate);
	return 0;
}
