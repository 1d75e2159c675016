/* SPDX-License-Identifier: MIT */
/*
 * jumps.c: setjmp and longjmp over frames.
 *
 * LEVELS: -O0 -O1 -O2,-fomit-frame-pointer
 * EXPR: depth < 4
 * EXPR: caught < 5
 * EXPR: tries <= 6
 * IN: main
 */
#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>

volatile int pass;
int depth, caught;
static jmp_buf out;

__attribute__((noinline)) static void dig(int n)
{
	depth++;
	if (n > 4)
		longjmp(out, n);
	if (n)
		dig(n + 2);
	depth--;
}

int main(void)
{
	volatile int tries = 0;

	for (volatile int i = 0; i < 9; i++) {
		pass = i;
		tries++;
		if (setjmp(out)) {
			caught++;
			depth = i % 3;
		} else {
			dig(i % 4);
		}
	}
	depth += 3;
	puts("end");
	_exit(tries);
}
