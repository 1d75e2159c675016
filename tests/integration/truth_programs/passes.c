/* SPDX-License-Identifier: MIT */
/*
 * passes.c: loops that are written on one line: each pass is a statement.
 *
 * EXPR: wheel < 5
 * EXPR: low <= high
 */
#include <stdio.h>
#include <unistd.h>

volatile int pass, wheel, low, high;

int main(void)
{
	puts("begin");
	for (pass = 0; pass < 40; pass++) wheel = (wheel + 1) % 11;
	while (pass++ < 60) { low = pass; high = pass + 5 - pass % 7; }
	puts("end");
	_exit(1);
}
