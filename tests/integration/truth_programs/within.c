/* SPDX-License-Identifier: MIT */
/*
 * within.c: expressions that are good, or bad, for a moment inside of one statement, in one segment and over several.
 *
 * EXPR: level < 14
 * EXPR: gauge < 8
 * EXPR: text[0] == 111
 * EXPR: filled[0] + filled[3] < 8
 * EXPR: low < 9 && sum <= 9000
 * EXPR: peak <= 6
 * EXPR: is_low()
 * AS: hidden < 12
 * CI: -O0
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

volatile int pass;
int level, gauge, sum, low, peak, hidden;
int filled[4];
char text[16] = "ok";

__attribute__((noinline)) int is_low(void)
{
	return hidden < 12;
}

__attribute__((noinline)) void step(void)
{
	level -= 50, level += 53, sum += level;
	gauge = gauge > 30 ? 0 : gauge, gauge += 7;
	strcpy(text, pass < 8 ? "ok" : "no");
	for (int i = 0; i < 4; i++) filled[i] = -pass, filled[i] += 2 * pass;
	low = 0, sum += pass, low = 2 * pass;
	peak += 40, sum++, peak -= 39;
	hidden -= 90, sum++, hidden += 92;
}

int main(void)
{
	puts("begin");
	for (pass = 0; pass < 14; pass++) {
		step();
		if (pass % 6 == 5)
			getppid();
	}
	puts("end");
	_exit(1);
}
