/* SPDX-License-Identifier: MIT */
/*
 * mapped.c: words in shared mappings, one memory at two addresses, and mappings that move and are mapped again.
 *
 * LEVELS: -O0 -O2
 * EXPR: here[3] < 20
 * EXPR: there[5] != 11
 * EXPR: alone[7] < 6
 * EXPR: moving == 0 || moving[2] < 9
 * EXPR: here[0] + there[1] < 15
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

volatile int pass;
int *here, *there, *alone, *moving;

__attribute__((noinline)) static void turn(int i)
{
	here[i % 4] += i;
	there[3] += 1;
	there[(i + 1) % 6] += 2;
	here[5] = i;
	alone[7] = i % 5;
	if (i % 6 == 5) {
		moving = mremap(moving, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)((long)alone + 65536 * (i + 1)));
		moving[2] += 2;
	}
}

int main(void)
{
	int fd = memfd_create("m", 0);

	if (ftruncate(fd, 4096))
		return 2;
	here = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	there = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	alone = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	moving = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 20; i++) {
		pass = i;
		turn(i);
		if (i % 4 == 3)
			getppid();
	}
	pass = 50;
	there[3] = 30;
	here[5] = 11;
	pass = 51;
	alone[7] = 6;
	moving[2] = 9;
	pass = 52;
	there[0] = 40;
	puts("end");
	_exit(1);
}
