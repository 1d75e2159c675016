/* SPDX-License-Identifier: MIT */
/*
 * nested_data.c: structs in structs, arrays of arrays of structs, pointers to arrays, offsets, const data, shadowed names.
 *
 * LEVELS: -O0 -O2
 * EXPR: w.room[1].seat[2].price < 40
 * EXPR: (*rowp)[3] < 8
 * EXPR: w.room[w.at].n != 4
 * EXPR: w.room[0].seat[w.room[0].n % 3].taken == 0 || w.at < 1
 * EXPR: &w.room[1] != cur
 * EXPR: cur->seat[1].price + cur->seat[0].price < 60
 * EXPR: *(int *)((long)&w + 4) < 7
 */
#include <stdio.h>
#include <unistd.h>

volatile int pass;
struct seat {
	short price;
	char taken;
};
struct room {
	int n;
	struct seat seat[3];
};
struct world {
	int at, tick;
	struct room room[2];
};
struct world w;
struct room *cur = &w.room[0];
int rows[3][4], (*rowp)[4] = rows;

__attribute__((noinline)) static void turn(int i)
{
	w.at = i & 1;
	w.tick = i;
	w.room[w.at].n = i;
	w.room[i % 2].seat[i % 3].price = (short)(i * 5);
	w.room[i % 2].seat[i % 3].taken ^= 1;
	cur = &w.room[i / 3 % 2];
	rows[i % 3][i % 4] = i;
	rowp = &rows[i % 2];
}

int main(void)
{
	for (int i = 0; i < 12; i++) {
		pass = i;
		turn(i);
		if (i % 5 == 3)
			getppid();
	}
	cur = &w.room[1];
	w.room[1].seat[2].price = 41;
	w.room[1].seat[1].price = 61;
	w.room[w.at].n = 4;
	rows[1][3] = 9;
	rowp = &rows[1];
	w.room[0].seat[w.room[0].n % 3].taken = 1;
	puts("end");
	_exit(1);
}
