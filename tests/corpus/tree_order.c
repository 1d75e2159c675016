/* SPDX-License-Identifier: MIT */
/*
 * tree_order.c: a search tree of 2,000 nodes, one of which gets a wrong key, all in one segment. The expression is a
 * recursive function over the whole tree.
 *
 * EXPECT-EXPR: in_order(root, -1, 200000) == 1
 * EXPECT-LINE: BUG: out of order
 */
#include <stdio.h>
#include <stdlib.h>

struct node {
	int key;
	struct node *l, *r;
};

static struct node *root;
static unsigned seed = 7;

__attribute__((noinline)) int in_order(const struct node *n, int lo, int hi)
{
	return !n || (n->key >= lo && n->key <= hi && in_order(n->l, lo, n->key) && in_order(n->r, n->key, hi));
}

__attribute__((noinline)) static void insert(int key)
{
	struct node **p = &root, *n = calloc(1, sizeof(*n));

	while (*p)
		p = key < (*p)->key ? &(*p)->l : &(*p)->r;
	n->key = key;
	*p = n;
}

__attribute__((noinline)) static void age(struct node *n)
{
	while (n->l)
		n = n->l;
	n->key = 150000; /* BUG: out of order */
}

static int next_key(void)
{
	seed = seed * 1103515245 + 12345;
	return (int)((seed >> 8) % 100000);
}

int main(void)
{
	for (int i = 0; i < 2000; i++)
		insert(next_key());
	age(root);
	for (int i = 0; i < 500; i++)
		insert(next_key());
	printf("%d\n", in_order(root, -1, 200000));
	return 0;
}
