/* SPDX-License-Identifier: MIT */
/* use_freed.c: The next element of a list is read out of one that was freed. */
#include <stdlib.h>

struct node {
	struct node *next;
	int value;
};

static struct node *push(struct node *next, int value)
{
	struct node *n = malloc(sizeof(*n)); /* ALLOC */

	n->next = next;
	n->value = value;
	return n;
}

static inline __attribute__((always_inline)) void drop(struct node *n)
{
	free(n); /* FREE */
}

int main(void)
{
	struct node *n = push(NULL, 1);

	while (n) {
		drop(n);
		n = n->next; /* BAD: use-after-free */
	}
	return 0;
}
