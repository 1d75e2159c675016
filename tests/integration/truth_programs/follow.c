/* SPDX-License-Identifier: MIT */
/*
 * follow.c: fields through pointers that change, in lists and chains of pointers, with objects that are given back and used again.
 *
 * EXPR: tail->value < 10
 * EXPR: chain->next->next->value != 8
 * EXPR: (*slot)->value != 6
 * EXPR: cursor->value <= cursor->next->value
 * EXPR: users[active].session->id < 30
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct item {
	int value;
	struct item *next;
};

struct session {
	int id, uses;
};

volatile int pass;
struct item *chain, *tail, *cursor, **slot = &chain;
struct {
	struct session *session;
} users[3];
int active;

__attribute__((noinline)) static struct item *add(int value)
{
	struct item *n = malloc(sizeof(*n));

	n->value = value;
	n->next = NULL;
	if (tail)
		tail->next = n;
	else
		chain = n;
	tail = n;
	return n;
}

__attribute__((noinline)) static void drop(void)
{
	struct item *n = chain;

	chain = n->next;
	free(n);
}

int main(void)
{
	for (int i = 0; i < 4; i++)
		add(i);
	cursor = chain->next;
	for (int i = 0; i < 3; i++) {
		users[i].session = calloc(1, sizeof(struct session));
		users[i].session->id = i;
	}
	for (int i = 4; i < 16; i++) {
		pass = i;
		add(i % 9);
		if (i > 6)
			drop();
		cursor = cursor->next;
		slot = i % 3 ? &chain : &chain->next;
		active = i % 3;
		users[active].session->id += i;
		if (i == 9) {
			free(users[2].session);
			users[2].session = malloc(sizeof(struct session));
			users[2].session->id = 1;
		}
		if (i % 5 == 0)
			getppid();
	}
	tail->value = 10;
	cursor->value = 50;
	chain->next->next->value = 8;
	(*slot)->value = 6;
	users[active].session->id = 30;
	puts("end");
	_exit(1);
}
