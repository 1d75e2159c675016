/* SPDX-License-Identifier: MIT */
/*
 * pair.c: two words that belong together are for a moment wrong at each change of both.
 *
 * CI: -O0
 * RIGHTS: yes
 * EXPR: a[1] - a[0] < 10
 * EXPR: a[0] > -1500
 */
#include <stdio.h>
#include <unistd.h>

volatile int pass;
int a[2];

__attribute__((noinline)) void grow(int i)
{
	a[0] = -100 * i;
	a[1] = a[0] + i;
}

int main(void)
{
	puts("begin");
	for (int i = 0; i < 20; i++) {
		pass = i;
		grow(i);
	}
	puts("end");
	_exit(0);
}
