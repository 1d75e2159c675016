/* SPDX-License-Identifier: MIT */
/*
 * deep_loop.c: one bad store somewhere in 10^8 iterations without a single library call: a value that the
 * histogram has no bin for lands in the limit after it. CC="gcc -DITERATIONS=1000000000ul" tests/corpus/run deep_loop
 * makes it ten times as long.
 *
 * EXPECT-EXPR: stats.limit == 1000
 * EXPECT-LINE: BUG: no such bin
 * EXPECT-FUNC: account
 * EXPECT-EXIT: 1
 */
#include <stdio.h>

#ifndef ITERATIONS
#define ITERATIONS 100000000ul
#endif
#define RARE 0x9379415cu

static struct {
	unsigned long bin[8];
	unsigned long limit;
	unsigned long seen;
} stats = {.limit = 1000};

/* The rare values have a bin each by their low bits; one of them was forgotten. */
static __attribute__((noinline)) void account(unsigned value)
{
	unsigned bin = value == RARE ? 8 : value & 7;
	unsigned long *slot = (unsigned long *)&stats + bin;

	*slot = value; /* BUG: no such bin */
}

static __attribute__((noinline)) unsigned long churn(unsigned long x)
{
	for (unsigned long i = 0; i < ITERATIONS; i++) {
		unsigned value;

		x = x * 6364136223846793005ul + 1442695040888963407ul;
		value = (unsigned)(x >> 32);
		if ((value & 0xfffff) == (RARE & 0xfffff))
			account(value);
	}
	return x;
}

int main(void)
{
	printf("start\n");
	fflush(stdout);
	stats.seen = churn(42);
	printf("seen %lx, limit %lu\n", stats.seen, stats.limit);
	return stats.limit != 1000;
}
