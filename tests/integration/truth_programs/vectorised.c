/* SPDX-License-Identifier: MIT */
/*
 * vectorised.c: loops that are vectorised; stores of 16 and 32 bytes.
 *
 * LEVELS: -O3 -O3,-march=haswell clang,-O3
 * EXPR: out[5] < 70
 * EXPR: out[9] + out[10] < 150
 * EXPR: pix[13].g < 90
 */
#include <stdio.h>
#include <unistd.h>

volatile int pass;
int in[64], out[64];
struct {
	unsigned char r, g, b, a;
} pix[64];

__attribute__((noinline)) static void scale(int by)
{
	for (int i = 0; i < 64; i++)
		out[i] = in[i] * by + i;
}

__attribute__((noinline)) static void tint(int by)
{
	for (int i = 0; i < 64; i++)
		pix[i].g = (unsigned char)(in[i] + by);
}

int main(void)
{
	for (int i = 0; i < 64; i++)
		in[i] = i;
	for (int k = 0; k < 12; k++) {
		pass = k;
		scale(k % 9 * 2);
		tint(k * 11 % 100);
		if (k % 5 == 1)
			getppid();
	}
	scale(20);
	tint(99);
	puts("end");
	_exit(1);
}
