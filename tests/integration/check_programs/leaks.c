/* SPDX-License-Identifier: MIT */
/*
 * leaks.c: Blocks whose only pointer is overwritten, and a list that only the first of them pointed to; and blocks to
 * which only the frame of a function that has returned points.
 */
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

static void lose(void)
{
	char *volatile lost[100];

	for (int i = 0; i < 100; i++)
		lost[i] = malloc(24); /* BAD: leak */
}

int main(void)
{
	struct node *volatile n = NULL;

	for (int i = 0; i < 5; i++)
		n = push(n);
	n = NULL;
	lose();
	kept = malloc(100);
	return 0;
}
