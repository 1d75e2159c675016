/* SPDX-License-Identifier: MIT */
/*
 * kinds.c: expressions of all kinds: floats, bit fields, unions, arrays, strings, enums, pointers to pointers.
 *
 * EXPR: balance > -2.5
 * EXPR: flags.high < 9
 * EXPR: mixed.word != 0x4030201
 * EXPR: colour != BLUE
 * EXPR: **deep < 7
 * EXPR: matrix[1][2] + matrix[2][1] < 11
 * EXPR: &cells[3] != cursor
 * EXPR: (unsigned char)byte < 200
 * EXPR: ratio * 2 < 3
 */
#include <stdio.h>
#include <unistd.h>

enum colour { RED, GREEN, BLUE };

volatile int pass;
double balance;
float ratio;
struct {
	unsigned low : 3, high : 5;
} flags;
union {
	char part[4];
	int word;
} mixed;
enum colour colour;
int base, *one = &base, **deep = &one;
int matrix[3][3], cells[8], *cursor = cells;
signed char byte;

__attribute__((noinline)) static void turn(int i)
{
	balance += i % 3 ? -0.75 : 1.0;
	ratio = ratio + 0.25f;
	flags.low = i;
	flags.high = 2 * i;
	mixed.part[i % 4] = i % 4 + 1;
	colour = i % 3;
	base = i;
	matrix[i % 3][(i + 1) % 3] = i;
	matrix[(i + 1) % 3][i % 3] = i / 2;
	cursor = &cells[i % 5];
	byte = (signed char)(i * 23);
}

int main(void)
{
	for (int i = 0; i < 12; i++) {
		pass = i;
		turn(i);
		if (i % 5 == 4)
			getppid();
	}
	byte = -10;
	cursor = &cells[3];
	mixed.word = 0;
	mixed.part[0] = 1;
	mixed.part[1] = 2;
	mixed.part[2] = 3;
	mixed.part[3] = 4;
	puts("end");
	_exit(1);
}
