/* SPDX-License-Identifier: MIT */
/*
 * dtors.cc: objects that the program's destructors free, clear or change when it ends by exit.
 *
 * LEVELS: -O0 -O2
 * UNTIL: exit
 * EXPR: gb->v != 70
 * EXPR: table.rows[1] < 50
 * CI: -O0 session
 */
#include <cstdio>

volatile int pass;
struct Box {
	volatile long v = 0, w = 0;
};
struct Owner {
	Box *box = new Box;
	~Owner()
	{
		delete box, box = nullptr;
	}
} own;
struct Table {
	volatile int *rows = new int[4]();
	~Table()
	{
		delete[] rows, rows = nullptr;
	}
} table;
struct Plain {
	volatile int a = 1;
	~Plain()
	{
		a = -1;
	}
} plain;
Box *gb;

int main()
{
	gb = own.box;
	for (int i = 0; i < 8; i++) {
		pass = i;
		gb->v = i * 10;
		table.rows[1] = i * 10;
	}
	puts("end");
	return 0;
}
