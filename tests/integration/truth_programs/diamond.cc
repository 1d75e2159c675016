/* SPDX-License-Identifier: MIT */
/*
 * diamond.cc: virtual bases: a diamond.
 *
 * LEVELS: -O0 -O2
 * EXPR: d->id < 7
 * EXPR: area < 50
 * EXPR: shapes[2]->w > 0
 * EXPR: ((Left *)d)->left != 30
 */
#include <cstdio>
#include <unistd.h>
volatile int pass;
struct Base {
	int id = 0, w = 1;
	virtual ~Base()
	{
	}
	virtual int size() const
	{
		return w;
	}
};
struct Left : virtual Base {
	int left = 0;
	int size() const override
	{
		return w * 2;
	}
};
struct Right : virtual Base {
	int right = 0;
	int size() const override
	{
		return w + right;
	}
};
struct Diamond : Left, Right {
	int own = 0;
	int size() const override
	{
		return left + right + w;
	}
};
Diamond *d;
Base *shapes[4];
int area;
__attribute__((noinline)) static void grow(Base *b, int i)
{
	b->w += i;
	area += b->size();
}
int main()
{
	d = new Diamond;
	shapes[0] = d;
	shapes[1] = new Left;
	shapes[2] = new Right;
	shapes[3] = new Base;
	for (int i = 0; i < 12; i++) {
		pass = i;
		d->id = i / 2 + 2;
		d->left = i * 3;
		static_cast<Right *>(d)->right++;
		grow(shapes[i & 3], i == 10 ? -40 : 1);
		if (i % 5 == 2)
			getppid();
	}
	d->left = 30;
	puts("end");
	_exit(1);
}
