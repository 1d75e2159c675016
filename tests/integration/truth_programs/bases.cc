/* SPDX-License-Identifier: MIT */
/*
 * bases.cc: several and virtual bases, members through base pointers, casts down.
 *
 * LEVELS: -O0 -O2
 * EXPR: cur->area < 40
 * EXPR: ((Round *)cur)->radius <= 6
 * EXPR: cur->*field != 3
 * AS: cur->marks != 3
 * EXPR: named.Named::serial < 5
 * EXPR: diamond.base_level < 4
 */
#include <cstdio>
#include <unistd.h>

volatile int pass;
struct Shape {
	int area = 0, marks = 0;
	virtual ~Shape() = default;
	virtual void grow(int by) = 0;
};
struct Round : Shape {
	int radius = 1;
	void grow(int by) override
	{
		radius += by;
		area = radius * radius;
	}
};
struct Square : Shape {
	int side = 2;
	void grow(int by) override
	{
		side += by;
		area = side * side / 2;
		marks++;
	}
};
struct Named {
	int serial = 0;
};
struct NamedRound : Round, Named {
	void grow(int by) override
	{
		Round::grow(by);
		serial++;
	}
};
struct Base {
	int base_level = 0;
};
struct Left : virtual Base {
	void up()
	{
		base_level += 2;
	}
};
struct Right : virtual Base {
	void down()
	{
		base_level--;
	}
};
struct Diamond : Left, Right {
};

NamedRound named;
Square square;
Diamond diamond;
Shape *cur = &named;
int Shape::*field = &Shape::marks;

int main()
{
	for (int i = 0; i < 10; i++) {
		pass = i;
		cur = i % 3 == 1 ? (Shape *)&square : &named;
		cur->grow(i % 3 - (i > 6));
		diamond.up();
		if (i & 1)
			diamond.down();
		if (i == 4)
			diamond.base_level = 0;
	}
	cur->area = 50;
	named.radius = 7;
	cur->marks = 3;
	named.serial += 4;
	puts("end");
	_exit(1);
}
