/* SPDX-License-Identifier: MIT */
/*
 * heap.c: objects through pointers that change, and that are unreadable for a while.
 *
 * EXPR: conf == 0 || conf->magic == 77
 * EXPR: conf->uses < 4
 * EXPR: head->key < 6
 * EXPR: table[3]->key == 3
 * EXPR: list_len(head) <= 7
 * AS: py: length("head") <= 7
 * MAYBE: yes
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct conf {
	int magic, uses;
};

struct node {
	int key;
	struct node *next;
};

volatile int pass;
struct conf *conf;
struct node *head, *table[8];

int list_len(const struct node *n)
{
	int len = 0;

	while (n) {
		len++;
		n = n->next;
	}
	return len;
}

__attribute__((noinline)) static void load(int i)
{
	struct conf *c = malloc(sizeof(*c));

	c->magic = 77;
	c->uses = 0;
	conf = c;
	if (i == 8)
		c->magic = 78;
}

__attribute__((noinline)) static void push(int key)
{
	struct node *n = malloc(sizeof(*n));

	n->key = key;
	n->next = head;
	head = n;
	if (key < 8)
		table[key] = n;
}

int main(void)
{
	for (int i = 0; i < 12; i++) {
		pass = i;
		if (i % 4 == 0) {
			conf = 0;
			load(i);
		}
		conf->uses++;
		push(i);
		if (i == 7)
			table[3]->key = 30;
	}
	conf->uses += 3;
	puts("end");
	_exit(1);
}
