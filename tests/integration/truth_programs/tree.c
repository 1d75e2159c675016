/* SPDX-License-Identifier: MIT */
/*
 * tree.c: calls with arguments, of functions that read much memory.
 *
 * EXPR: count(root) < 9
 * AS: py: nodes(v("root")) < 9
 * MAYBE: yes
 * EXPR: ordered(root, 0, 100)
 * AS: py: sorted_tree(v("root"), 0, 100)
 * MAYBE: yes
 * EXPR: strcmp(name, "omega") != 0
 * AS: py: v("name").string() != "omega"
 * MAYBE: yes
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
	int key;
	struct node *left, *right;
};

volatile int pass;
struct node *root;
char name[16] = "alpha";

int count(const struct node *n)
{
	return n ? 1 + count(n->left) + count(n->right) : 0;
}

int ordered(const struct node *n, int lo, int hi)
{
	return !n || (n->key >= lo && n->key <= hi && ordered(n->left, lo, n->key) && ordered(n->right, n->key, hi));
}

__attribute__((noinline)) static void insert(int key)
{
	struct node **at = &root, *n = calloc(1, sizeof(*n));

	n->key = key;
	while (*at) {
		int less = key < (*at)->key;

		at = less ? &(*at)->left : &(*at)->right;
	}
	*at = n;
}

int main(void)
{
	static const int keys[] = {50, 20, 80, 10, 30, 70, 90, 60, 40, 15, 85, 25};

	for (int i = 0; i < 12; i++) {
		pass = i;
		insert(keys[i]);
		if (i == 4)
			root->left->key = 55;
		if (i == 6)
			root->left->key = 20;
		if (i == 9)
			root->right->key = 45;
		strcpy(name, i % 4 == 2 ? "omega" : "sigma");
	}
	strcpy(name, "omega");
	if (count(root) > 3 && !ordered(root, 0, 100))
		puts("end");
	_exit(1);
}
