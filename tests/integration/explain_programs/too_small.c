/* SPDX-License-Identifier: MIT */
/* A block has the size of a pointer, and not of what it points to: what is written past its end is a member. KIND: heap */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct user {
	int id, n;
	long groups[6];
};

static struct user *__attribute__((noinline)) make(int id)
{
	struct user *u = malloc(sizeof(u)); /* BUG */

	u->id = id;
	u->n = 0;
	return u;
}

static void __attribute__((noinline)) join(struct user *u, long g)
{
	if (u->n < 6)
		u->groups[u->n++] = g;
}

int main(void)
{
	struct user *u[3];

	for (int i = 0; i < 3; i++)
		u[i] = make(i);
	for (int i = 0; i < 3; i++)
		for (long g = 0; g < 6; g++)
			join(u[i], g + 100);
	for (int i = 0; i < 3; i++)
		free(u[i]);
	puts("ok");
	return 0;
}
