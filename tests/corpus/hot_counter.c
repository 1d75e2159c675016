/* SPDX-License-Identifier: MIT */
/*
 * hot_counter.c: a counter that a hot loop updates on every iteration crosses its threshold somewhere; the
 * variable changes tens of millions of times before and after.
 *
 * EXPECT-EXPR: account.used <= account.quota
 * EXPECT-LINE: BUG: quota not checked
 * EXPECT-FUNC: charge_all
 * EXPECT-EXIT: 1
 */
#include <stdio.h>

#define REQUESTS 50000000ul

static volatile struct {
	unsigned long used, quota;
} account = {0, 1ul << 36};

static __attribute__((noinline)) unsigned long charge_all(unsigned long x)
{
	for (unsigned long i = 0; i < REQUESTS; i++) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		account.used += x >> 53; /* BUG: quota not checked */
	}
	return x;
}

int main(void)
{
	unsigned long x;

	x = charge_all(7);
	printf("%lx: used %lu of %lu\n", x, account.used, account.quota);
	x = charge_all(x);
	printf("%lx: used %lu of %lu\n", x, account.used, account.quota);
	return account.used > account.quota;
}
