/* SPDX-License-Identifier: MIT */
/*
 * nones.c: a pointer that is NULL between its objects; several changes from no value to bad.
 *
 * EXPR: p->x < 5
 * NONE: yes
 * EXPR: get(p) < 5
 * AS: p->x < 5
 * NONE: yes
 */
#include <stdio.h>
#include <unistd.h>

volatile int pass;
struct s { int x; } good = {1}, bad = {7}, *p = &good;

int get(struct s *s) { return s->x; }

__attribute__((noinline)) static void set(struct s *to)
{
	p = to;
}

int main(void)
{
	for (int i = 0; i < 6; i++) {
		pass = i;
		set(NULL);
		if (i % 2)
			getppid();
		pass = i + 10;
		set(&bad);
		if (i % 3 == 1)
			getppid();
	}
	_exit(get(p));
}
