/* SPDX-License-Identifier: MIT */
/*
 * dispatch.c: a machine with computed goto.
 *
 * LEVELS: -O0 -O1 -O2 -O3,-fomit-frame-pointer clang,-O2
 * EXPR: acc < 60
 * EXPR: depth < 4
 * EXPR: stack[1] != 12
 */
#include <stdio.h>
#include <unistd.h>
volatile int pass;
int acc, depth, stack[8];
enum { PUSH, ADD, MUL, OUT, HALT };
__attribute__((noinline)) static void run(const unsigned char *pc)
{
	static void *const labels[] = {&&push, &&add, &&mul, &&out, &&halt};
	int n = 0;
#define NEXT goto *labels[*pc++]
	NEXT;
push:
	stack[n++ & 7] = *pc++;
	depth = n;
	NEXT;
add:
	n--;
	stack[n - 1] += stack[n];
	depth = n;
	NEXT;
mul:
	n--;
	stack[n - 1] *= stack[n];
	depth = n;
	NEXT;
out:
	acc += stack[--n];
	depth = n;
	NEXT;
halt:
	return;
}
int main(void)
{
	static unsigned char code[] = {PUSH, 2, PUSH, 3, PUSH, 4, ADD, PUSH, 1, PUSH, 5, OUT, OUT, MUL, OUT, HALT};
	for (int i = 0; i < 5; i++) {
		pass = i;
		code[1] = (unsigned char)(2 + i);
		run(code);
		getppid();
	}
	depth = 5;
	stack[1] = 12;
	puts("end");
	_exit(1);
}
