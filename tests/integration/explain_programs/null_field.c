/* SPDX-License-Identifier: MIT */
/* A pointer that somebody else set to null, two copies before it is used. KIND: segfault */
#include <stdio.h>
#include <stdlib.h>

struct node {
	struct node *next;
	int v;
};

static struct node *head;

static void add(int v)
{
	struct node *n = malloc(sizeof(*n));

	n->v = v;
	n->next = head;
	head = n;
}

static __attribute__((noinline)) void cut(int at)
{
	struct node *n = head;

	for (int i = 0; i < at; i++)
		n = n->next;
	n->next = NULL; /* BUG */
}

static __attribute__((noinline)) int sum(int count)
{
	struct node *n = head;
	int s = 0;

	for (int i = 0; i < count; i++) {
		s += n->v;
		n = n->next;
	}
	return s;
}

int main(void)
{
	for (int i = 0; i < 20; i++)
		add(i);
	printf("%d\n", sum(20));
	cut(7);
	printf("%d\n", sum(20));
	return 0;
}
