/* SPDX-License-Identifier: MIT */
/*
 * several.c: globals that turn several times, within segments and across them; swaps within one statement.
 *
 * EXPR: level < 5
 * EXPR: x + y == 30
 * EXPR: level != 3
 * EXPR: state
 * EXPR: sum <= 40 && level >= 0
 */
#include <stdio.h>
#include <unistd.h>

volatile int pass;
int level, sum, state = 3, x = 10, y = 20;

__attribute__((noinline)) void swap(void)
{
	x ^= y, y ^= x, x ^= y;
}

__attribute__((noinline)) void rise(int by)
{
	level += by;
	sum += level;
}

int main(void)
{
	for (int i = 0; i < 24; i++) {
		pass = i;
		swap();
		rise(i % 8 < 4 ? 2 : -2);
		if (i % 5 == 0)
			getppid();
		if (i == 17)
			state = 7;
		if (i == 19)
			x++;
	}
	level = 6;
	level = 3;
	puts("end");
	_exit(1);
}
