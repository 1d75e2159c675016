/* SPDX-License-Identifier: MIT */
/*
 * maps.c: an object in memory that is unmapped and mapped again; transients in a statement.
 *
 * LEVELS: -O0 -O2
 * EXPR: *page != 7
 * EXPR: lo + hi == 100
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

volatile int pass;
volatile int *page;
int lo, hi = 100;

__attribute__((noinline)) static void move(int by)
{
	lo += by, hi -= by;
}

int main(void)
{
	for (int i = 0; i < 5; i++) {
		pass = i;
		page = mmap((void *)0x600000000000, 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		*page = i == 2 ? 7 : i;
		*page = *page + (i == 4 ? 3 : 1);
		move(i + 1);
		if (i != 4)
			munmap((void *)page, 4096);
	}
	hi--;
	move(3);
	puts("end");
	_exit(1);
}
