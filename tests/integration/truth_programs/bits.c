/* SPDX-License-Identifier: MIT */
/*
 * bits.c: bit fields, unions, _Bool and enums.
 *
 * LEVELS: -O0 -O2 clang,-O1
 * EXPR: flags.mode != 5
 * EXPR: flags.left >= 0
 * EXPR: u.word < 0x400
 * EXPR: u.half[1] == 0
 * EXPR: ready
 * EXPR: state != BROKEN
 * EXPR: flags.on || flags.mode < 3
 */
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum state { IDLE, BUSY, BROKEN = 7 };

volatile int pass;
struct {
	unsigned on : 1, mode : 4;
	int left : 5;
	unsigned long long rest : 40;
} flags;
union {
	unsigned word;
	unsigned short half[2];
	unsigned char byte[4];
} u;
_Bool ready;
enum state state;

__attribute__((noinline)) static void set(int i)
{
	flags.mode = i % 7;
	flags.on = i & 1;
	flags.rest += 1ull << i;
	flags.left = 14 - i;
	u.byte[1] = i / 3;
	if (i == 11)
		u.half[1] = 3;
	ready = i % 3;
	state = i % 4 == 3 ? BROKEN : i & 1;
}

int main(void)
{
	ready = true;
	for (int i = 0; i < 20; i++) {
		pass = i;
		set(i);
		if (i % 6 == 5)
			getppid();
	}
	flags.mode = 5;
	flags.left = -3;
	flags.on = 0;
	u.byte[1] = 4;
	state = BROKEN;
	ready = 1;
	ready = 0;
	puts("end");
	_exit(1);
}
