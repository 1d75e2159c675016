/* SPDX-License-Identifier: MIT */
/*
 * stack.c: local variables of main and of a function that main calls many times, alive at the end.
 *
 * EXPR: total < 20
 * IN: main
 * EXPR: seen[2] == 0
 * IN: main
 * EXPR: worst != 9
 * IN: check
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

volatile int pass;
volatile int sink;

__attribute__((noinline)) int check(volatile int *at, int n)
{
	volatile int worst = 0;

	for (int i = 0; i < n; i++) {
		if (at[i] > worst)
			worst = at[i];
		if (i == 2)
			getppid();
	}
	sink = worst;
	if (worst > 8) {
		puts("end");
		_exit(2);
	}
	return worst;
}

int main(void)
{
	volatile int seen[4] = {0};
	volatile int total = 0;

	for (int i = 0; i < 12; i++) {
		pass = i;
		total = total + i;
		seen[i % 4] = i;
		if (i % 4 == 3)
			total = total - 1;
		check(seen, 4);
	}
	return total;
}
