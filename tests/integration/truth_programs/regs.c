/* SPDX-License-Identifier: MIT */
/*
 * regs.c: locals that live in registers only, and calls in between.
 *
 * LEVELS: -O2 clang,-O2
 * EXPR: sum < 300
 * IN: walk
 * EXPR: best - worst < 60
 */
#include <stdio.h>
#include <unistd.h>

volatile int pass;
int best, worst, table[32];

__attribute__((noinline)) static int weigh(int i)
{
	pass = i;
	return table[i % 32] * (i % 3);
}

__attribute__((noinline)) static int walk(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		sum += weigh(i);
		if (sum > 310)
			sum -= 40;
	}
	puts("end");
	_exit(sum & 1);
}

int main(void)
{
	for (int i = 0; i < 32; i++) {
		pass = i;
		table[i] = i * 7 % 31;
		best = table[i] > best ? table[i] : best;
		worst = -table[i] * 2 < worst ? -table[i] * 2 : worst;
		if (i == 11)
			worst += 25;
	}
	return walk(64);
}
