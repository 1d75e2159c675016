/* SPDX-License-Identifier: MIT */
/*
 * kept.c: static variables of functions, of inlined ones too.
 *
 * LEVELS: -O0 -O2 -O2,-flto clang,-O2
 * EXPR: next_serial::serial < 20
 * EXPR: table[2].uses <= 3
 */
#include <stdio.h>
#include <unistd.h>

volatile int pass;
struct entry {
	int uses, serial;
} table[4];

__attribute__((noinline)) static int next_serial(int by)
{
	static int serial = 3;

	serial += by;
	if (by == 4)
		serial -= 9;
	return serial;
}

static inline int clock_of(void)
{
	static volatile int ticks;

	ticks = ticks + 1;
	return ticks;
}

__attribute__((noinline)) static void use(int i)
{
	struct entry *e = &table[i % 4];

	e->uses++;
	e->serial = next_serial(i % 5) + clock_of();
	if (e->uses > 4)
		e->uses = 0;
}

int main(void)
{
	for (int i = 0; i < 24; i++) {
		pass = i;
		use(i);
		if (i % 8 == 7)
			getppid();
	}
	while (clock_of() % 7 != 6)
		;
	table[2].uses += 5;
	puts("end");
	_exit(next_serial(30));
}
