/* SPDX-License-Identifier: MIT */
/* An element is put into a list a second time as its first one, and follows itself from then on. KIND: assertion */
#include <assert.h>
#include <stddef.h>

#define ELEMENTS 4

struct element {
	volatile int value;
	struct element *next;
};

static struct element *head, pool[ELEMENTS];

static void __attribute__((noinline)) add(struct element *e)
{
	e->next = head; /* BUG */
	head = e;
}

static int __attribute__((noinline)) length(void)
{
	struct element *e;
	int n = 0;

	for (e = head; e; e = e->next) {
		n++;
		assert(n <= ELEMENTS);
		e->value = n;
	}
	return n;
}

int main(void)
{
	for (int i = 0; i < ELEMENTS; i++)
		add(&pool[i]);
	add(&pool[ELEMENTS - 1]);
	return length() != ELEMENTS;
}
