/* SPDX-License-Identifier: MIT */
/*
 * pair_count.c: two counters that belong together. Each change makes them differ for a moment; one for good.
 *
 * EXPECT-EXPR: table.count == table.used
 * EXPECT-LINE: BUG: used only
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
	volatile int count, used;
} table;

__attribute__((noinline)) static void add(void)
{
	table.count++;
	table.used++;
}

__attribute__((noinline)) static void del(int key)
{
	if (key == 77) {
		table.used--; /* BUG: used only */
		return;
	}
	table.used--;
	table.count--;
}

int main(void)
{
	for (int i = 0; i < 300; i++) {
		add();
		if (i % 7 == 0)
			del(i);
		if (i % 50 == 0)
			getppid();
	}
	printf("%d of %d\n", table.used, table.count);
	return 0;
}
