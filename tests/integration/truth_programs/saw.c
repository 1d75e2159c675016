/* SPDX-License-Identifier: MIT */
/*
 * saw.c: many transitions; several statements in one line, several lines in one statement; macros, ternaries, comma.
 *
 * LEVELS: -O0 -O1 -O3
 * EXPR: saw < 6
 * EXPR: a + b < 10
 * EXPR: swapped[0] <= swapped[1]
 * EXPR: clamp >= 0 && clamp <= 8
 */
#include <stdio.h>
#include <unistd.h>

#define SWAP(x, y) do { int t = x; x = y; y = t; } while (0)

volatile int pass;
volatile int saw, a, b, clamp;
volatile int swapped[2];

__attribute__((noinline)) static void turn(int i)
{
	saw = i % 8; if (i == 3) saw += 3;
	a = i; b = 9 -
		i; a += i == 6;
	swapped[0] = i % 5, swapped[1] = 4;
	if (swapped[0] & 1)
		SWAP(swapped[0], swapped[1]);
	clamp = i * 3 - 10;
	clamp = clamp < 0 ? 0 : clamp > 8 ? 8 : clamp;
}

int main(void)
{
	for (int i = 0; i < 22; i++) {
		pass = i;
		turn(i);
		if (i % 9 == 4)
			getppid();
	}
	saw = 7;
	a += 5;
	clamp = 9;
	swapped[0] = 6;
	puts("end");
	_exit(1);
}
