/* SPDX-License-Identifier: MIT */
/* A member is never set: by the one that was given the block, not by the function that only asks malloc. KIND: jump */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct timer {
	long due;
	void (*call)(void);
};

static void __attribute__((noinline)) *get(size_t size)
{
	void *p = malloc(size);

	if (!p)
		exit(2);
	return p;
}

static struct timer *__attribute__((noinline)) make(long due)
{
	struct timer *t = get(sizeof(*t)); /* BUG */

	t->due = due;
	return t;
}

int main(void)
{
	char *other = get(sizeof(struct timer));

	memset(other, 0x11, sizeof(struct timer));
	free(other);
	struct timer *t = make(4);

	printf("%ld\n", t->due);
	t->call();
	return 0;
}
