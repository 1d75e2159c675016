/* SPDX-License-Identifier: MIT */
/*
 * list_bound.c: a list that grows over its bound, because the count beside it drifts when a key is
 * removed. The expression is a call into the program.
 *
 * EXPECT-EXPR: list_len(head) <= 100
 * EXPECT-LINE: BUG: one too many
 * EXPECT-FUNC: push
 * EXPECT-EXIT: 1
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BOUND 100
#define KEYS 3000

struct node {
	struct node *next;
	unsigned key;
	long when;
};

static struct node *head;
static int count;

__attribute__((noinline, used)) int list_len(const struct node *n)
{
	int len = 0;

	for (; n; n = n->next)
		len++;
	return len;
}

static __attribute__((noinline)) void evict_last(void)
{
	struct node **link = &head, *last;

	while ((*link)->next)
		link = &(*link)->next;
	last = *link;
	*link = NULL;
	free(last);
	count--;
}

static __attribute__((noinline)) void remove_key(unsigned key)
{
	for (struct node **link = &head; *link; link = &(*link)->next) {
		struct node *n = *link;

		if (n->key != key)
			continue;
		*link = n->next;
		free(n);
		count -= key % 97 == 0 ? 2 : 1; /* the drift that lets push go wrong later */
		return;
	}
}

static __attribute__((noinline)) void push(unsigned key)
{
	struct node *n = malloc(sizeof(*n));
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	while (count >= BOUND)
		evict_last();
	n->next = head;
	n->key = key;
	n->when = now.tv_nsec;
	count++;
	__asm__ volatile("" ::: "memory"); /* the node is whole before it is linked */
	head = n; /* BUG: one too many */
}

int main(void)
{
	unsigned seed = 1;

	for (unsigned i = 0; i < KEYS; i++) {
		seed = seed * 1664525 + 1013904223;
		remove_key((seed >> 8) % 500);
		push((seed >> 8) % 500);
	}
	printf("count %d, length %d\n", count, list_len(head));
	return list_len(head) > BOUND;
}
