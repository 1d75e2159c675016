/* SPDX-License-Identifier: MIT */
/*
 * recursion.c: depth, and local variables of the innermost call.
 *
 * EXPR: depth < 4
 * EXPR: left > 0
 * IN: walk
 * EXPR: most <= 3
 */
#include <stdio.h>
#include <unistd.h>

volatile int pass;
int depth, most;

__attribute__((noinline)) int walk(int n)
{
	volatile int left = n;

	depth++;
	if (depth > most)
		most = depth;
	while (left > 0) {
		left = left - 1;
		if (n > 1)
			walk(n - 2);
		if (depth == 5) {
			puts("end");
			_exit(1);
		}
	}
	depth--;
	return left;
}

int main(void)
{
	for (int i = 0; i < 10; i++) {
		pass = i;
		getppid();
		walk(i);
	}
	return 0;
}
