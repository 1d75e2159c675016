/* SPDX-License-Identifier: MIT */
/* The same block is freed twice, by a function that frees what it is given: by the first call. KIND: double-free */
#include <stdio.h>
#include <stdlib.h>

struct text {
	int users;
	char *s;
};
static struct text *a, *b;

static void release(struct text **text)
{
	struct text *t = *text;

	if (--t->users < 1)
		free(t);
}

int main(void)
{
	a = calloc(1, sizeof(*a));
	b = a;
	puts("x");
	release(&a); /* BUG */
	puts("y");
	release(&b);
	return 0;
}
