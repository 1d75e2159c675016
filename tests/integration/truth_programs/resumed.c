/* SPDX-License-Identifier: MIT */
/*
 * resumed.c: stackless coroutines (Duff's switch), a computed-goto interpreter, a table of functions.
 *
 * LEVELS: -O0 -O2 clang,-O1
 * EXPR: writer.sent < 5
 * EXPR: reader.got[2] == 0
 * EXPR: writer.at != 99
 * EXPR: top < 3
 * EXPR: acc < 60
 * EXPR: step != four
 */
#include <stdio.h>
#include <unistd.h>

#define BEGIN(c) switch ((c)->at) { case 0:
#define YIELD(c, n) do { (c)->at = n; return 1; case n:; } while (0)
#define END(c) } (c)->at = 99; return 0

volatile int pass;
int box, full;
struct co {
	int at, i, sent, got[8];
} writer, reader;
int stack[16], top, acc;
typedef void fn(void);
fn *step;

__attribute__((noinline)) static int run_writer(struct co *c)
{
	BEGIN(c)
	for (c->i = 0; c->i < 7; c->i++) {
		while (full)
			YIELD(c, 1);
		box = c->i * 2;
		full = 1;
		c->sent++;
		YIELD(c, 2);
	}
	END(c);
}

__attribute__((noinline)) static int run_reader(struct co *c)
{
	BEGIN(c)
	for (;;) {
		while (!full)
			YIELD(c, 3);
		c->got[c->i % 4] += box;
		full = 0;
		c->i++;
	}
	END(c);
}

__attribute__((noinline)) static void interpret(const unsigned char *code)
{
	static const void *const ops[] = {&&push, &&add, &&drop, &&halt};
	const unsigned char *pc = code;

	goto *ops[*pc];
push:
	stack[top++] = pc[1];
	pc += 2;
	goto *ops[*pc];
add:
	top--;
	stack[top - 1] += stack[top];
	acc += stack[top - 1];
	pc += 1;
	goto *ops[*pc];
drop:
	top--;
	pc += 1;
	goto *ops[*pc];
halt:
	return;
}

static void one(void) { acc += 1; }
static void two(void) { acc -= 2; }
static void three(void) { acc += 3; }
void four(void) { acc = 10; }
static fn *const table[] = {one, two, three, four};

int main(void)
{
	static const unsigned char a[] = {0, 5, 0, 6, 1, 0, 7, 1, 2, 3};
	static const unsigned char b[] = {0, 9, 0, 1, 0, 8, 1, 1, 0, 2, 0, 3, 3};

	for (int i = 0; i < 20; i++) {
		pass = i;
		run_writer(&writer);
		run_reader(&reader);
		if (i % 4 == 3)
			getppid();
	}
	pass = 50;
	interpret(a);
	pass = 51;
	interpret(a);
	for (int i = 0; i < 7; i++) {
		pass = 60 + i;
		step = table[i % 4];
		step();
	}
	pass = 70;
	interpret(b);
	acc += 50;
	pass = 71;
	step = four;
	puts("end");
	_exit(1);
}
