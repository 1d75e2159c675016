/* SPDX-License-Identifier: MIT */
/*
 * realloc.c: an array that moves as it grows, and a static variable of a function.
 *
 * EXPR: items[2] != 20
 * EXPR: used <= 9
 * EXPR: calls < 5
 * IN: append
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

volatile int pass;
int *items, used, room;

__attribute__((noinline)) void append(int v)
{
	static int calls;

	calls++;
	if (used == room) {
		room = room ? 2 * room : 2;
		items = realloc(items, room * sizeof(*items));
	}
	items[used++] = v;
	if (calls == 13) {
		puts("end");
		_exit(1);
	}
}

int main(void)
{
	for (int i = 0; i < 20; i++) {
		pass = i;
		append(i);
		if (i == 4 || i == 9)
			items[2] = 20;
		if (i == 7)
			items[2] = 2;
		if (i == 10)
			used--;
	}
	return 0;
}
