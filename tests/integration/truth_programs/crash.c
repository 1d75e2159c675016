/* SPDX-License-Identifier: MIT */
/*
 * crash.c: a pointer that is NULL at the failure: unreadable there is bad.
 *
 * CI: -O1
 * EXPR: current->value > 0
 * EXPR: current != 0
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct item {
	int value;
	struct item *next;
};

volatile int pass;
struct item *current;

__attribute__((noinline)) static void step(struct item *last)
{
	current->value += 3;
	current = current == last ? 0 : current->next;
}

int main(void)
{
	struct item *items = calloc(6, sizeof(*items));

	for (int i = 0; i < 6; i++) {
		pass = i;
		items[i].value = i - 2;
		items[i].next = i < 5 ? &items[i + 1] : 0;
	}
	current = items;
	for (int i = 0; i < 20; i++) {
		pass = 100 + i;
		getppid();
		step(&items[4]);
		pass = 200 + i;
	}
	return 0;
}
