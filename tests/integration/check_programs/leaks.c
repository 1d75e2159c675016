/* SPDX-License-Identifier: MIT */
/* leaks.c: Blocks whose only pointer is overwritten, and a list that only the first of them pointed to. */
#include <stdlib.h>

struct node {
	struct node *next;
};

static void *kept;

static struct node *push(struct node *next)
{
	struct node *n = malloc(sizeof(*n)); /* BAD: leak */

	n->next = next;
	return n;
}

int main(void)
{
	struct node *volatile n = NULL;

	for (int i = 0; i < 5; i++)
		n = push(n);
	n = NULL;
	kept = malloc(100);
	return 0;
}
