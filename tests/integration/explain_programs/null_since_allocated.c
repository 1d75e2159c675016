/* SPDX-License-Identifier: MIT */
/*
 * A null pointer, which a member has rightly been since its object was allocated, is copied to where none may be.
 * KIND: segfault
 */
#include <stdlib.h>

struct node {
	int key;
	struct node *left, *right;
};

static struct node *__attribute__((noinline)) make(int key, struct node *right)
{
	struct node *n = calloc(1, sizeof(*n));

	n->key = key;
	n->right = right;
	return n;
}

/* Without the least node of the tree. */
static void __attribute__((noinline)) drop_least(struct node **root)
{
	struct node **at = root;

	while ((*at)->left)
		at = &(*at)->left;
	*at = (*at)->left; /* BUG: it had a right one */
}

int main(void)
{
	struct node *root = make(2, make(3, NULL));

	root->right->left = make(1, make(4, NULL));
	drop_least(&root->right);
	return root->right->left->key;
}
