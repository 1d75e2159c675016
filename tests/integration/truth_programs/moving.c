/* SPDX-License-Identifier: MIT */
/*
 * moving.c: one segment without events; pointers into arrays that move; a ring; indices in the expression.
 *
 * EXPR: ring.used <= 4
 * EXPR: ring.slot[ring.tail] != 13
 * EXPR: *(ring.slot + cursor) < 12
 * EXPR: (ring.head - ring.tail + 6) % 6 == ring.used % 6
 * EXPR: last->left != 0 || last->right != 0
 */
#include <stdio.h>
#include <unistd.h>

struct node {
	struct node *left, *right;
};

volatile int pass;
struct {
	int slot[6];
	int head, tail, used;
} ring;
int cursor;
struct node pool[12], *last = &pool[0];

__attribute__((noinline)) static void put(int v)
{
	ring.slot[ring.head] = v;
	ring.head = (ring.head + 1) % 6;
	ring.used++;
}

__attribute__((noinline)) static int get(void)
{
	int v = ring.slot[ring.tail];

	ring.tail = (ring.tail + 1) % 6;
	ring.used--;
	return v;
}

int main(void)
{
	int sum = 0;

	pool[0].left = &pool[1];
	for (int i = 0; i < 16; i++) {
		pass = i;
		put(i);
		cursor = (cursor * 5 + i) % 6;
		if (i % 3)
			sum += get();
		if (i == 9)
			ring.used++;
		last = &pool[i % 12];
		if (i % 4 != 3)
			last->right = &pool[0];
	}
	printf("%d\n", sum);
	fflush(stdout);
	_exit(1);
}
