/* SPDX-License-Identifier: MIT */
/*
 * unmapped.c: memory that is mapped, unmapped and mapped again.
 *
 * EXPR: area[10] == 0
 * EXPR: *where < 6
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

volatile int pass;
int *area, *where;

int main(void)
{
	for (int i = 0; i < 4; i++) {
		pass = i;
		area = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		where = &area[20];
		for (int k = 0; k < 5; k++) {
			pass = 10 * i + k;
			*where = i + k;
			getppid();
		}
		area[10] = i;
		area[10] = area[10] * (i - 1);
		if (i < 3)
			munmap(area, 4096);
	}
	puts("end");
	_exit(1);
}
