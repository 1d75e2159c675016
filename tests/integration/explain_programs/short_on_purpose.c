/* SPDX-License-Identifier: MIT */
/* A block ends in the middle of its type on purpose; what is written past its end is past the end of the type, too: the loop's bound. KIND: heap */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct name {
	long n;
	char text[8];
};

static struct name *__attribute__((noinline)) make(int n)
{
	struct name *a = malloc(offsetof(struct name, text) + n); /* right */

	a->n = n;
	return a;
}

static void __attribute__((noinline)) fill(struct name *a, int n)
{
	for (int i = 0; i < n; i++)
		a->text[i] = 'x'; /* BUG */
}

int main(void)
{
	struct name *a = make(4);

	fill(a, 40);
	puts(a->text);
	free(a);
	return 0;
}
