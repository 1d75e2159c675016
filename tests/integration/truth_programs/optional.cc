/* SPDX-License-Identifier: MIT */
/*
 * optional.cc: std::optional, std::variant, std::tuple, a union with a tag, bit-fields of a class.
 *
 * EXPR: limit.has_value()
 * AS: limit._M_payload._M_engaged
 * EXPR: shape.kind != 1 || shape.u.side > 0
 * EXPR: flags.state != 5
 * EXPR: flags.count < 6
 * EXPR: packed.low + packed.high != 9
 */
#include <cstdio>
#include <optional>
#include <unistd.h>

volatile int pass;
std::optional<int> limit(3);

struct Shape {
	int kind;
	union {
		int side;
		double radius;
	} u;
} shape;

struct Flags {
	unsigned busy : 1;
	unsigned state : 3;
	unsigned count : 4;
	int level : 5;
} flags;

struct __attribute__((packed)) Packed {
	char c;
	short low;
	int high;
} packed;

__attribute__((noinline)) static void draw(int i)
{
	if (i % 2) {
		shape.kind = 2;
		shape.u.radius = -1.5 * i;
	} else {
		shape.kind = 1;
		shape.u.side = i - 1;
	}
}

int main()
{
	for (int i = 0; i < 12; i++) {
		pass = i;
		limit = i;
		if (i % 5 == 3)
			limit.reset();
		draw(i);
		flags.busy ^= 1;
		flags.state = i;
		flags.count = i / 2 + (i == 3 ? 4 : 0);
		flags.level--;
		packed.c++;
		packed.low = i;
		packed.high = i % 3 ? i % 4 : 1;
		if (i % 4 == 2)
			getppid();
	}
	limit = 4;
	limit.reset();
	shape.u.side = 5;
	shape.kind = 1;
	shape.u.side = -5;
	flags.state = 5;
	packed.high = 9 - packed.low;
	puts("end");
	_exit(1);
}
