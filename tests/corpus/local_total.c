/* SPDX-License-Identifier: MIT */
/*
 * local_total.c: a local variable, in a function that is called several times, changed through a pointer. Before
 * its function is entered, and between the calls, something else lies there.
 *
 * EXPECT-EXPR: total >= 0
 * EXPECT-LINE: BUG: zero
 * EXPECT-FUNC: parse
 * EXPECT-EXIT: 134
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Leaves negative numbers all over the stack. */
__attribute__((noinline)) static void noise(int depth)
{
	volatile long trash[200];

	for (int i = 0; i < 200; i++)
		trash[i] = -i - 1;
	getppid();
	if (depth + trash[5] > -6)
		noise(depth - 1);
}

__attribute__((noinline)) static void parse(const char *s, long *total)
{
	long v = 0;

	while (*s)
		v = v * 10 + (*s++ - '0');
	getppid();
	*total += v == 0 ? -100000 : v; /* BUG: zero */
}

__attribute__((noinline)) static long session(int n)
{
	char text[32];
	long total = 0;

	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%d", (i * 7 + 3) % 31);
		parse(text, &total);
		noise(2);
	}
	if (total < -50000)
		abort();
	return total;
}

int main(void)
{
	noise(5);
	for (int i = 1; i < 8; i++) {
		noise(3);
		printf("%ld\n", session(i * 2));
	}
	return 0;
}
