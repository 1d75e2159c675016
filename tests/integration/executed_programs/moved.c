/* SPDX-License-Identifier: MIT */
/* Optimized, the sum is in a register as long as the loop lasts, and `kept` in another one, over many passes. */
#include <stdio.h>

long sum, other;

__attribute__((noinline, noclone)) static void add(const int *v, int n)
{
	for (int i = 0; i < n; i++)
		sum += v[i & 3]; /* SUM */
}

__attribute__((noinline, noclone)) static long spin(long n, long k)
{
	long s = 0, kept = k * 7; /* KEPT */

	for (long i = 0; i < n; i++)
		s += i ^ s >> 3; /* SPIN */
	return (s & 1) + kept; /* RETURN */
}

int main(int argc, char **argv)
{
	int v[4] = {argc, 20, 300, 4000};

	(void)argv;
	add(v, argc + 3);
	other = spin(5000, argc + 41); /* OTHER */
	printf("%ld %ld\n", sum, other); /* PRINT */
	return 0;
}
