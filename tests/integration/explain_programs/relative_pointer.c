/* SPDX-License-Identifier: MIT */
/* KIND: segfault */
/* NOT-SAID: past the end */
/* A pointer is the way from the object that has it to another one. */
#include <stdlib.h>
struct node { long peer; int *count; char more[40]; };
static int count;
static struct node *b;
static void link_to(struct node *from, struct node *to) { from->peer = (char *)to - (char *)from; }
static int *given(int k) { return k < 2 ? &count : (int *)8; /* BUG */ }
static void set(struct node *n, int k)
{
	((struct node *)((char *)n + n->peer))->count = given(k);
}
int main(void)
{
	struct node *a = calloc(1, sizeof(*a));
	b = calloc(1, sizeof(*b));
	link_to(a, b);
	for (int k = 0; k < 3; k++) {
		set(a, k);
		++*b->count;
	}
	return 0;
}
