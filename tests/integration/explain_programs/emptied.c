/* SPDX-License-Identifier: MIT */
/*
 * A table begins with null pointers, and what was on top of them is taken off again: who made it empty counts, not who
 * set the table up. KIND: segfault
 */
#include <stdio.h>
#include <stdlib.h>

struct value {
	int n;
	struct value *below;
};

static struct value *stack[64];

static void __attribute__((noinline)) begin(void)
{
	for (int i = 0; i < 64; i++)
		stack[i] = NULL;
}

static void __attribute__((noinline)) push(int which, int n)
{
	struct value *v = malloc(sizeof(*v));

	v->n = n;
	v->below = stack[which];
	stack[which] = v;
}

static int __attribute__((noinline)) pop(int which)
{
	struct value *v = stack[which];
	int n = v->n;

	stack[which] = v->below; /* BUG: nobody asks whether it is empty now */
	free(v);
	return n;
}

int main(void)
{
	int sum = 0;

	begin();
	push('a', 1);
	push('a', 2);
	for (int i = 0; i < 3; i++)
		sum += pop('a');
	printf("%d\n", sum);
	return 0;
}
