/* SPDX-License-Identifier: MIT */
/*
 * heapq.c: objects on the heap through local pointers, several transitions; a call in the expression.
 *
 * LEVELS: -O0 -O2
 * EXPR: depth(top) < 5
 * AS: py: length("top", "down") < 5
 * EXPR: top == 0 || top->weight < 40
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct item {
	int weight;
	struct item *down;
};

volatile int pass;
struct item *top;

__attribute__((noinline, used)) int depth(struct item *p)
{
	int n = 0;

	for (; p; p = p->down)
		n++;
	return n;
}

int main(void)
{
	for (int i = 0; i < 30; i++) {
		struct item *p;

		pass = i;
		if (i % 5 == 4) {
			p = top;
			top = p->down;
			free(p);
		} else if (i % 5 != 3 || i > 24) {
			p = malloc(sizeof(*p));
			p->weight = i * 11 % 50;
			p->down = top;
			top = p;
		} else {
			while (top && top->down) {
				p = top;
				top = p->down;
				free(p);
			}
		}
	}
	top->weight = 45;
	puts("end");
	_exit(depth(top));
}
