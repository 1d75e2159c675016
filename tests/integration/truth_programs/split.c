/* SPDX-License-Identifier: MIT */
/*
 * split.c: structures that an optimising compiler keeps in registers, one member in each.
 *
 * LEVELS: -O2
 * EXPR: p.x < 12
 * AS: {p}[0].x < 12
 * IN: walk
 * EXPR: speed < 6.5
 * IN: walk
 * EXPR: best.x < 12
 */
#include <stdio.h>
#include <unistd.h>

volatile int pass;
struct point {
	int x, y;
};
struct point best;

__attribute__((noinline)) static struct point step(struct point p, int i)
{
	return (struct point){p.x + i % 4, p.y + (i % 3 ? 1 : -1)};
}

__attribute__((noinline)) static int walk(int n)
{
	struct point p = {0, 5};
	double speed = 1.5;

	for (int i = 0; i < n; i++) {
		pass = i;
		p = step(p, i);
		speed += i % 3 * 0.5;
		if (i == 6)
			speed = 2, p.x -= 7;
		if (p.x > best.x)
			best = p;
		if (i % 4 == 1)
			getppid();
	}
	p.x += 20;
	p.y = 9;
	speed += 4;
	getppid();
	best = p;
	printf("end %d %d %f\n", p.x, p.y, speed);
	fflush(stdout);
	_exit(p.x + p.y + (int)speed);
}

int main(void)
{
	return walk(9);
}
