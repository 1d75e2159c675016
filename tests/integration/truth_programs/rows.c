/* SPDX-License-Identifier: MIT */
/*
 * rows.c: arrays of structs with an index that moves, pointers into them, pointers to members.
 *
 * LEVELS: -O0 -O2 -O2,-flto
 * EXPR: rows[at].left >= 0
 * EXPR: cur->right - cur->left < 7
 * EXPR: rows[rows[at].link].left != 4
 * EXPR: *where < 12
 */
#include <stdio.h>
#include <unistd.h>

volatile int pass;
struct row {
	int left, right, link;
} rows[6], *cur = rows;
int at, *where = &rows[1].right;

__attribute__((noinline)) static void move(int i)
{
	at = i % 6;
	rows[at].left = i % 5 - (i == 7);
	rows[at].right = rows[at].left + i % 8;
	rows[at].link = (i * 5) % 6;
	cur = &rows[(at + 1) % 6];
	if (i % 4 == 2)
		where = &rows[at].right;
}

int main(void)
{
	for (int i = 0; i < 20; i++) {
		pass = i;
		move(i);
	}
	rows[at].left = -1;
	cur->right = cur->left + 9;
	*where = 13;
	rows[at].link = 3;
	rows[3].left = 4;
	puts("end");
	_exit(1);
}
