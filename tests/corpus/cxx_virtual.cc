/* SPDX-License-Identifier: MIT */
/*
 * cxx_virtual.cc: a shape whose area becomes negative. The expression calls a virtual function through a base
 * class in a namespace.
 *
 * EXPECT-EXPR: shape->area() >= 0
 * EXPECT-LINE: BUG: unchecked
 * EXPECT-FUNC: grow
 * EXPECT-WATCH: --good 20%
 */
#include <cstdio>
#include <unistd.h>

namespace geo {
struct shape {
	virtual ~shape() {}
	virtual long area() const = 0;
};
struct rect : shape {
	long w = 10, h = 5;
	long area() const override;
};
long rect::area() const
{
	return w * h;
}
}

static geo::shape *shape;

__attribute__((noinline)) static void grow(geo::rect *r, long by)
{
	r->w += by; // BUG: unchecked
}

int main()
{
	geo::rect *r = new geo::rect;
	shape = r;
	for (int i = 0; i < 50; i++) {
		getppid();
		grow(r, i == 33 ? -1000 : 1);
	}
	printf("%ld\n", shape->area());
	return 0;
}
