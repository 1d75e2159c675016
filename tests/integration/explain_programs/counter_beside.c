/* SPDX-License-Identifier: MIT */
/* Nothing compares the index of a write past the end; a counter that is compared in front of it has the same value.
 * KIND: heap */
#include <stdio.h>
#include <stdlib.h>

struct list {
	long *v;
	int n;
};

static void __attribute__((noinline)) put(struct list *l, int most)
{
	int sum = 0;

	while (sum < most)
		sum++;
	l->v[l->n++] = sum; /* BUG */
}

int main(void)
{
	struct list l = {malloc(6 * sizeof(long)), 0};

	for (int i = 0; i < 9; i++)
		put(&l, i);
	printf("%d\n", l.n);
	free(l.v);
	return 0;
}
