/* SPDX-License-Identifier: MIT */
/* A loop along a list does not find what is not in it, and nobody asks. KIND: segfault */
#include <stdio.h>
#include <string.h>

struct user {
	const char *name;
	volatile int id;
	struct user *next;
};

static struct user *users, pool[3];

static void __attribute__((noinline)) add(struct user *u, const char *name)
{
	u->name = name;
	u->next = users;
	users = u;
}

static struct user *__attribute__((noinline)) find(const char *name)
{
	struct user *u;

	for (u = users; u && strcmp(u->name, name) != 0; u = u->next) /* BUG */
		;
	return u; /* BUG too, as an end of it */
}

int main(void)
{
	add(&pool[0], "root");
	add(&pool[1], "bin");
	printf("%d\n", find("root")->id);
	printf("%d\n", find("nobody")->id);
	return 0;
}
