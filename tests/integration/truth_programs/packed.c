/* SPDX-License-Identifier: MIT */
/*
 * packed.c: packed structs, members that cross words and lines, bit fields across bytes, anonymous unions.
 *
 * LEVELS: -O0 -O2
 * EXPR: row[1].wide < 900
 * EXPR: line.cross != 77
 * EXPR: bits.across < 300
 * EXPR: bits.signed_one >= -40
 * EXPR: any.kind == 0 || any.num < 5
 * EXPR: any.text[0] != 'z'
 * EXPR: flex->n < 6 || flex->item[5] < 50
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile int pass;
struct __attribute__((packed)) small {
	char tag;
	long wide;
	short tail;
} row[4];
struct __attribute__((packed, aligned(64))) {
	char pad[61];
	long cross;
	int after;
} line;
struct __attribute__((packed)) {
	unsigned first : 5;
	unsigned across : 13;
	int signed_one : 7;
	unsigned long rest : 33;
} bits;
struct {
	int kind;
	union {
		int num;
		char text[8];
		double real;
	};
} any;
struct flex {
	int n;
	int item[];
} *flex;

__attribute__((noinline)) static void set(int i)
{
	row[i % 4].wide += i * 40;
	row[(i + 1) % 4].tail = i;
	line.cross = i * 7;
	line.pad[60] = i;
	line.after = -i;
	bits.first = i;
	bits.across = i * 21;
	bits.rest = ~0ul - i;
	bits.signed_one = 20 - 5 * i;
	if (i % 4 == 3) {
		any.kind = 1;
		any.num = i;
	} else {
		any.kind = 0;
		strcpy(any.text, i % 4 == 2 ? "zap" : "abc");
	}
	if (i < 8) {
		flex = realloc(flex, sizeof(*flex) + (i + 1) * sizeof(int));
		flex->n = i + 1;
		flex->item[i] = i * 3;
	}
}

int main(void)
{
	for (int i = 0; i < 16; i++) {
		pass = i;
		set(i);
		if (i % 5 == 4)
			getppid();
	}
	pass = 100;
	row[1].wide = 1000;
	line.cross = 77;
	any.num = 9;
	flex->item[5] = 51;
	pass = 101;
	any.text[0] = 'z';
	puts("end");
	_exit(1);
}
