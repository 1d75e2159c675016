/* SPDX-License-Identifier: MIT */
/*
 * shapes.cc: classes: members, virtual functions, smart pointers, exceptions.
 *
 * LEVELS: -O0 -O2
 * EXPR: shape->area() < 20
 * AS: py: n("shape->w") * n("shape->h") < 20
 * MAYBE: yes
 * EXPR: owned->w != 3
 * AS: py: n("((Shape *)owned)->w") != 3
 * EXPR: failures < 2
 */
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <unistd.h>

volatile int pass;

struct Shape {
	int w, h;
	Shape(int a, int b) : w(a), h(b) {}
	virtual int area() const { return w * h; }
	virtual ~Shape() {}
};

Shape *shape;
std::unique_ptr<Shape> owned;
int failures;

__attribute__((noinline)) static void replace(int i)
{
	Shape *old = shape;

	shape = new Shape(i, i + 1);
	delete old;
	if (i % 3 == 2)
		throw std::runtime_error("odd");
}

int main()
{
	for (int i = 0; i < 7; i++) {
		pass = i;
		try {
			replace(i);
		} catch (const std::exception &) {
			failures++;
		}
		if (i % 2 == 0)
			owned.reset(new Shape(i, 1));
		owned->w++;
	}
	owned->w = 3;
	puts("end");
	_exit(1);
}
