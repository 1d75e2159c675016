/* SPDX-License-Identifier: MIT */
/*
 * registers.c: local variables that an optimising compiler keeps in registers.
 *
 * EXPR: count < 7
 * IN: main
 * EXPR: best <= 30
 * IN: main
 */
#include <stdio.h>
#include <unistd.h>

volatile int pass;
volatile int input[16] = {3, 9, 2, 14, 8, 31, 6, 22, 40, 1, 17, 5, 12, 33, 7, 4};
volatile int sink;

int main(void)
{
	int count = 0, best = 0;

	for (int i = 0; i < 16; i++) {
		int v = input[i];

		pass = i;
		if (v & 1)
			count++;
		if (v > best)
			best = v;
		if (i % 6 == 1)
			getppid();
		sink = count + best;
	}
	sink = count;
	sink = best;
	printf("%d %d\n", count, best);
	fflush(stdout);
	if (count > 2)
		_exit(count + best);
	return sink + count;
}
