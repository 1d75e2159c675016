/* SPDX-License-Identifier: MIT */
/*
 * late.cc: pointers that are set late, to objects that change then; casts to the second base class.
 *
 * LEVELS: -O0
 * EXPR: late->b < 5
 * EXPR: ((second *)whole)->b < 7
 * EXPR: static_cast<both *>(late)->c < 30
 * EXPR: nested && nested->inner && nested->inner->level < 3
 */
#include <cstdio>
#include <unistd.h>

struct first {
	long a = 1;
	virtual ~first() {}
};

struct second {
	long b = 8;
	virtual ~second() {}
};

struct both : first, second {
	long c = 3;
};

struct outer {
	struct inner {
		int level;
	} *inner;
};

volatile int pass, idle;
both object, *whole = &object;
second *late;
outer *nested;

static void wait_a_while(int until)
{
	while (idle < until)
		idle = idle + 1;
}

int main()
{
	wait_a_while(300);
	late = whole;
	for (int i = 0; i < 6; i++) {
		pass = i;
		late->b = i * 5 % 9;
		whole->c += 7;
	}
	wait_a_while(500);
	nested = new outer();
	nested->inner = new struct outer::inner();
	for (int i = 0; i < 9; i++) {
		pass = 20 + i;
		nested->inner->level = i % 4 + (i > 5);
	}
	late->b = 9;
	wait_a_while(900);
	puts("end");
	_exit(1);
}
