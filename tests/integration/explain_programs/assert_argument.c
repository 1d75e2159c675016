/* SPDX-License-Identifier: MIT */
/* An assertion about an argument: it was wrong where the caller got it. KIND: assertion */
#include <assert.h>
#include <stdio.h>

struct queue {
	int n, cap;
};

static volatile int limit = 5;

static __attribute__((noinline)) void check(struct queue *q, int extra)
{
	assert(q->n + extra <= q->cap);
}

static __attribute__((noinline)) int extra_of(int k)
{
	if (k > 7)
		return limit * 3; /* BUG */
	return 1;
}

int main(void)
{
	struct queue q = {2, 10};

	for (int i = 0; i < 10; i++) {
		int extra = extra_of(i);

		printf("%d\n", extra);
		check(&q, extra);
	}
	return 0;
}
