/* SPDX-License-Identifier: MIT */
/*
 * floats.c: float, double, long double, integers of 16 bytes; NaN.
 *
 * LEVELS: -O0 -O2 -O3,-ffast-math clang,-O2
 * EXPR: mean < 4.5
 * EXPR: level <= 3.25f
 * EXPR: wide < 9.0L
 * EXPR: *(long *)&huge < 3
 * EXPR: ratio == ratio
 * EXPR: sample[3] - sample[2] < 1.5
 */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

volatile int pass;
double mean, sum, sample[8];
float level;
long double wide;
__int128 huge;
volatile double ratio = 1, zero;

__attribute__((noinline)) static void add(int i)
{
	sum += i % 11;
	mean = sum / (i + 1);
	level = level * 0.75f + (i % 5);
	wide += i * 0.125L;
	huge += (__int128)i << 60;
	sample[i % 8] = i % 3 * 0.75;
}

int main(void)
{
	for (int i = 0; i < 24; i++) {
		pass = i;
		add(i);
		if (i % 7 == 3)
			getppid();
		if (i == 17)
			ratio = zero / zero;
	}
	pass = 100;
	mean += 4;
	level = 8;
	sample[3] = 9;
	puts("end");
	_exit(1);
}
