/* SPDX-License-Identifier: MIT */
/*
 * flip_flop.c: an expression that turns from good to bad several times, each time on another line; any of
 * them is a right answer.
 *
 * EXPECT-EXPR: valve.open == 1
 * EXPECT-LINE: BUG: by pressure
 * EXPECT-LINE: BUG: by heat
 * EXPECT-LINE: BUG: by hand
 * EXPECT-EXIT: 1
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct {
	int open;
	unsigned opened, closed;
} valve = {.open = 1};

static __attribute__((noinline)) void reopen(void)
{
	valve.opened++;
	valve.open = 1;
}

static __attribute__((noinline)) void pressure(void)
{
	valve.closed++;
	valve.open = 0; /* BUG: by pressure */
}

static __attribute__((noinline)) void heat(void)
{
	valve.closed++;
	valve.open = -1; /* BUG: by heat */
}

static __attribute__((noinline)) void hand(void)
{
	valve.closed++;
	valve.open = 2; /* BUG: by hand */
}

static void tick(unsigned n)
{
	struct timespec now;

	for (unsigned i = 0; i < n; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
}

int main(void)
{
	static void (*const closers[])(void) = {pressure, heat, hand};

	for (unsigned i = 0; i < 50; i++) {
		tick(i * 37 % 211);
		closers[i % 3]();
		tick(i * 53 % 97);
		reopen();
	}
	tick(100);
	heat();
	tick(1000);
	printf("opened %u, closed %u\n", valve.opened, valve.closed);
	return valve.open != 1;
}
