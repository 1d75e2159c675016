/* SPDX-License-Identifier: MIT */
/*
 * odd.c: expressions of odd kinds: ternaries, shifts, casts, sizes, characters, GDB's own functions.
 *
 * LEVELS: -O2
 * EXPR: (flag ? a : b) < 9
 * EXPR: (mask >> 3 & 1) == 0
 * EXPR: ~mask & 0x10
 * EXPR: -a > -8
 * EXPR: a % 4 != 3 || b > 2
 * EXPR: (unsigned)(b - 3) < 4000000000u
 * EXPR: word[idx] == 'a' + idx
 * EXPR: $_streq(word, "abzd") == 0
 * AS: py: v('word').string() != 'abzd'
 * EXPR: !flag
 * EXPR: p - arr < 5
 * EXPR: p == arr || p[-1] != 6
 * EXPR: *(short *)((char *)arr + 8) != 9
 */
#include <stdio.h>
#include <unistd.h>

typedef unsigned char u8;
volatile int pass;
int flag, a, b = 5;
unsigned mask;
char word[8] = "abcd";
int idx, arr[8], *p = arr;
u8 unused;

__attribute__((noinline)) static void step(int i)
{
	flag = i % 3 == 1;
	a = i;
	b = 9 - i;
	mask ^= 1u << (i % 5);
	idx = i % 4;
	word[idx] = i % 5 == 4 ? 'z' : 'a' + idx;
	arr[i % 8] = i;
	p = &arr[i * 3 % 8];
}

int main(void)
{
	for (int i = 0; i < 11; i++) {
		pass = i;
		step(i);
		if (i % 4 == 2)
			getppid();
	}
	a = 11;
	b = 1;
	idx = 2;
	word[0] = 'a';
	word[1] = 'b';
	word[2] = 'z';
	word[3] = 'd';
	word[4] = 'e';
	word[4] = 0;
	arr[6] = 6;
	p = &arr[7];
	arr[2] = 9;
	flag = 1;
	mask = 0xff;
	puts("end");
	_exit(unused + 1);
}
