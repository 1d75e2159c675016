/* SPDX-License-Identifier: MIT */
/* What is written through a pointer to the old block is not in the new one, which is checked later. KIND: assertion */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
struct vec {
	long *v;
	size_t n, cap;
};
static void __attribute__((noinline)) push(struct vec *a, long x)
{
	if (a->n == a->cap) {
		a->cap *= 2;
		a->v = realloc(a->v, a->cap * sizeof(long)); /* BUG */
	}
	a->v[a->n++] = x;
}
int main(void)
{
	struct vec a = {malloc(2 * sizeof(long)), 0, 2};
	long *first;
	push(&a, 5);
	first = &a.v[0];
	for (long i = 0; i < 4; i++)
		push(&a, i);
	*first = 7;
	printf("%zu\n", a.n);
	assert(a.v[0] == 7);
	return 0;
}
