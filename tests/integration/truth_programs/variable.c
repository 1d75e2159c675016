/* SPDX-License-Identifier: MIT */
/*
 * variable.c: arrays of variable length and alloca, while their functions run.
 *
 * LEVELS: -O0 clang,-O0
 * EXPR: top[0] != 9
 * IN: main
 * EXPR: most < 11
 */
#include <alloca.h>
#include <stdio.h>
#include <unistd.h>

volatile int pass;
int most;

__attribute__((noinline)) static void fill(int n, int last)
{
	volatile int row[n];

	for (int i = 0; i < n; i++) {
		row[i] = i + last;
		if (row[i] > most)
			most = row[i];
	}
	if (last == 7) {
		row[2] = 3;
		row[2] += 4;
		puts("end");
		_exit(most);
	}
}

int main(void)
{
	volatile int *top = alloca(sizeof(int) * 4);

	for (int i = 0; i < 4; i++)
		top[i] = 0;
	for (int i = 0; i < 8; i++) {
		pass = i;
		top[i % 4] = i;
		top[0] += 5;
		fill(3 + i % 3, i);
	}
	return 0;
}
