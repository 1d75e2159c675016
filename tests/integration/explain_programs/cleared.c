/* SPDX-License-Identifier: MIT */
/* A library's function, called from the line of a condition with a comment, clears what is still used. KIND: segfault */
#include <stdio.h>
#include <string.h>

struct program {
	int *code;
	int n;
};

static int code[4] = {1, 2, 3, 4};
static struct program store[2], *last, *used;

static void __attribute__((noinline)) compile(struct program *p, int n)
{
	if (last) memset(last, 0, sizeof(*last)); /* BUG: it may be the one that is used */
	p->code = code;
	p->n = n;
	last = p;
}

int main(void)
{
	compile(&store[0], 2);
	used = last;
	compile(&store[1], 3);
	printf("%d\n", used->code[0]);
	return 0;
}
