/* SPDX-License-Identifier: MIT */
/*
 * thunks.cc: what functions do that the compiler put into thunks: it gives them the lines of the declarations.
 *
 * LEVELS: -O2
 * EXPR: base->common < 40
 * EXPR: left->left_count != 5
 * EXPR: shapes[1]->size < 9
 */
#include <cstdio>
#include <unistd.h>
volatile int pass;
struct Base {
	int common = 0;
	virtual void set(int i) = 0;
	virtual int get() const
	{
		return common;
	}
	virtual ~Base()
	{
	}
};
struct Left : virtual Base {
	int left_count = 0;
	void set(int i) override
	{
		left_count = i;
	}
};
struct Right : virtual Base {
	int right_count = 0;
	void set(int i) override
	{
		right_count = i;
	}
};
struct Both : Left, Right {
	int own = 0;
	void set(int i) override;
	int get() const override
	{
		return right_count * 2 + common;
	}
};
void Both::set(int i)
{
	left_count = i % 6;
	right_count = i;
	common = i * 5;
	own++;
}
Both both;
Base *base = &both;
Left *left = &both;
Right *right = &both;
struct Shape {
	virtual void grow(int n)
	{
		size += n;
	}
	int size = 0;
	virtual ~Shape()
	{
	}
};
struct Named {
	virtual void name(int n) = 0;
	char text[8] = "";
	virtual ~Named()
	{
	}
};
struct Square : Named, Shape {
	int side = 0;
	void grow(int n) override
	{
		side = n;
		size = n + text[0];
	}
	void name(int n) override
	{
		text[0] = n % 3;
	}
};
Shape plain;
Square square;
Shape *shapes[2] = {&plain, &square};
Named *named = &square;
extern "C" __attribute__((noinline, used)) int sum(const Base *b)
{
	return b->get();
}
int main()
{
	for (int i = 0; i < 11; i++) {
		pass = i;
		(i % 2 ? base : i % 3 ? (Base *)left : (Base *)right)->set(i);
		named->name(i);
		shapes[i % 2]->grow(i);
		if (sum(base) < 0)
			puts("no");
	}
	base->set(5);
	shapes[1]->grow(12);
	base->set(11);
	pass = 50;
	base->set(11);
	_exit(1);
}
