/* SPDX-License-Identifier: MIT */
/*
 * spread.c: three words that are far from each other, which change again and again in the segment of a session's end.
 *
 * EXPR: ends[0] + ends[20] + ends[40] < 20
 * EXPR: ends[0] * ends[20] != 6 * ends[40]
 * CI: -O0 session
 */
#include <unistd.h>

volatile int pass;
int ends[50];

int main(void)
{
	getppid();
	for (int i = 0; i < 12; i++) {
		pass = i;
		ends[0] = i % 5;
		ends[20] += 3;
		ends[40] = i & 1 ? 4 : -30;
	}
	ends[40] = -40;
	ends[40] = -20;
	ends[20] = 60;
	ends[0] = -2;
	_exit(1);
}
