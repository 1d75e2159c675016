/* SPDX-License-Identifier: MIT */
/*
 * arrays.c: variable length arrays, alloca, nested functions, variadic functions, structs by value.
 *
 * LEVELS: -O0 -O1
 * EXPR: total < 40
 * EXPR: peak != 9
 * EXPR: kept[3] < 6
 * EXPR: *window < 30
 * EXPR: big.part[20] < 8
 * EXPR: counted < 14
 */
#include <alloca.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

volatile int pass;
int total, peak, counted;
int kept[8];
int *window = kept;
struct big {
	int part[40];
} big, other;

__attribute__((noinline)) static int fill(int n)
{
	int v[n];
	int *w = alloca(n * sizeof(int));

	for (int i = 0; i < n; i++) {
		v[i] = i * n;
		w[i] = v[i] / 2;
	}
	for (int i = 0; i < n; i++)
		total += v[i] - w[i] - 2;
	return v[n - 1] % 10;
}

__attribute__((noinline)) static void add(int n, ...)
{
	va_list ap;

	va_start(ap, n);
	for (int i = 0; i < n; i++)
		counted += va_arg(ap, int);
	va_end(ap);
}

__attribute__((noinline)) static struct big made(int i)
{
	struct big b = big;

	b.part[i % 40] += i;
	b.part[20] = i / 2;
	return b;
}

int main(void)
{
	void bump(int by)
	{
		kept[by % 8] += by;
	}

	for (int i = 1; i < 9; i++) {
		pass = i;
		peak = fill(i);
		bump(i + 2);
		add(i % 3, i, -2);
		big = made(i);
		memcpy(&other, &big, sizeof(other));
		window = &kept[i % 8];
		*window += i;
		if (i % 3 == 2)
			getppid();
	}
	pass = 50;
	peak = 9;
	total = 41;
	pass = 51;
	other.part[20] = 12;
	big = other;
	add(4, 3, 3, 3, 20);
	pass = 52;
	window = &kept[5];
	*window = 31;
	kept[3] = 60;
	puts("end");
	_exit(1);
}
