/* SPDX-License-Identifier: MIT */
/* A handler, called by a pointer, closes the connection that the loop goes on with. KIND: segfault */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct conn {
	int (*on_data)(struct conn *);
	int n;
	struct conn *next;
};

static struct conn *conns;

static void __attribute__((noinline)) closes(struct conn *c)
{
	conns = c->next;
	memset(c, 0xdd, sizeof(*c));
	free(c);
}

static int counts(struct conn *c)
{
	return ++c->n;
}

static int once(struct conn *c)
{
	puts("once");
	closes(c); /* BUG */
	return 1;
}

static void __attribute__((noinline)) dispatch(void)
{
	for (struct conn *c = conns; c; c = c->next)
		if (c->on_data(c) < 0)
			break;
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		struct conn *c = calloc(1, sizeof(*c));

		c->on_data = i == 2 ? once : counts;
		c->next = conns;
		conns = c;
	}
	dispatch();
	return 0;
}
