/* SPDX-License-Identifier: MIT */
/* Optimized, an assertion has nothing that can be evaluated. KIND: assertion */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
struct t {
	int key, height;
	struct t *l, *r;
};
static int h(const struct t *t)
{
	return t ? t->height : 0;
}
static struct t *leaf(int k)
{
	struct t *t = calloc(1, sizeof(*t));
	t->key = k;
	t->height = 1;
	return t;
}
static struct t *insert(struct t *t, int k)
{
	if (!t)
		return leaf(k);
	if (k < t->key)
		t->l = insert(t->l, k);
	else
		t->r = insert(t->r, k);
	int a = h(t->l), b = h(t->r);
	if (k != 17)
		t->height = 1 + (a > b ? a : b);
	else
		t->height = 1 + (a < b ? a : b); /* BUG */
	return t;
}
static void check(const struct t *t)
{
	if (!t)
		return;
	assert(t->height > h(t->l) && t->height > h(t->r));
	check(t->l);
	check(t->r);
}
int main(void)
{
	static const int k[] = {10, 5, 15, 12, 20, 18, 17, 3};
	struct t *root = NULL;
	for (int i = 0; i < 8; i++) {
		root = insert(root, k[i]);
		printf("%d\n", k[i]);
		check(root);
	}
	return 0;
}
