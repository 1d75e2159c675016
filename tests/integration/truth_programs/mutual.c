/* SPDX-License-Identifier: MIT */
/*
 * mutual.c: functions that call each other, structs passed and returned by value, varargs.
 *
 * LEVELS: -O0 -O1 -O2,-fomit-frame-pointer
 * EXPR: sum.n < 40
 * EXPR: sum.depth <= 3
 * EXPR: acc < 30
 * IN: main
 */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

volatile int pass;
struct sum {
	int n, depth;
	long spare[3];
} sum;

struct sum odd(struct sum s, int n);

__attribute__((noinline)) static struct sum even(struct sum s, int n)
{
	s.n += n;
	s.depth++;
	return n > 0 ? odd(s, n - 1) : s;
}

__attribute__((noinline)) struct sum odd(struct sum s, int n)
{
	s.n -= n / 2;
	return n > 0 ? even(s, n - 1) : s;
}

__attribute__((noinline)) static int add(int n, ...)
{
	va_list ap;
	int r = 0;

	va_start(ap, n);
	while (n--)
		r += va_arg(ap, int);
	va_end(ap);
	return r;
}

int main(void)
{
	int acc = 0;

	for (int i = 0; i < 8; i++) {
		pass = i;
		sum = even(sum, i);
		sum.depth /= 2;
		acc += add(3, i, sum.n % 5, 1);
		if (i == 4) {
			acc -= 20;
			sum.n = 0;
		}
		if (i & 1)
			getppid();
	}
	sum.n += 40;
	sum.depth += 4;
	acc += 50;
	puts("end");
	_exit(acc);
}
