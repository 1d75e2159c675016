/* SPDX-License-Identifier: MIT */
/*
 * optimised.c: arguments and locals that an optimising compiler moves between registers and the stack, in functions with calls.
 *
 * LEVELS: -O1 -O2
 * EXPR: spent < 40
 * IN: spend
 * EXPR: wallet->left >= 30
 * IN: spend
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct wallet {
	int left, times;
};

volatile int pass;
volatile int prices[10] = {4, 9, 1, 7, 3, 8, 2, 6, 11, 5};

__attribute__((noinline)) static int price(int i)
{
	pass = i;
	return prices[i];
}

__attribute__((noinline)) static int spend(struct wallet *wallet, int n)
{
	int spent = 0;

	for (int i = 0; i < n; i++) {
		int p = price(i);

		spent += p;
		wallet->left -= p;
		wallet->times++;
		if (i == 4)
			getppid();
	}
	printf("%d %d\n", spent, wallet->left);
	fflush(stdout);
	if (spent > 3)
		_exit(spent);
	return spent + wallet->times;
}

int main(void)
{
	struct wallet *w = calloc(1, sizeof(*w));

	w->left = 70;
	return spend(w, 10);
}
