/* SPDX-License-Identifier: MIT */
/*
 * float_balance.c: floating point, which GDB does not compile.
 *
 * EXPECT-EXPR: balance >= 0.0
 * EXPECT-LINE: BUG: no limit
 */
#include <stdio.h>
#include <unistd.h>

static double balance = 100;

__attribute__((noinline)) static void pay(double amount)
{
	balance -= amount; /* BUG: no limit */
}

int main(void)
{
	for (int i = 0; i < 100; i++) {
		getppid();
		pay(1.25);
	}
	printf("%g\n", balance);
	return 0;
}
