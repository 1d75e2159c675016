/* SPDX-License-Identifier: MIT */
/*
 * inlines.c: what is inlined, and locals that live in registers of the loop.
 *
 * LEVELS: -O1 -O2 -O3 clang,-O2
 * EXPR: total < 50
 * IN: main
 * EXPR: ring.head - ring.tail <= 4
 * EXPR: checksum % 9 != 4
 */
#include <stdio.h>
#include <unistd.h>

volatile int pass;
struct {
	volatile int head, tail;
	int slot[8];
} ring;
volatile int checksum, input[16] = {5, 3, 8, 1, 9, 2, 7, 6, 4, 12, 11, 10, 14, 13, 0, 15};

static inline __attribute__((always_inline)) void put(int v)
{
	ring.slot[ring.head & 7] = v;
	ring.head = ring.head + 1;
}

static inline __attribute__((always_inline)) int get(void)
{
	ring.tail = ring.tail + 1;
	return ring.slot[(ring.tail - 1) & 7];
}

static inline void mix(int v)
{
	checksum = checksum * 3 + v;
	if (checksum > 1000)
		checksum -= 997;
}

int main(void)
{
	int total = 0;

	for (int i = 0; i < 16; i++) {
		pass = i;
		put(input[i]);
		if (i % 4 != 2)
			total += get();
		mix(total);
		if (i == 7)
			ring.tail = ring.tail + 1;
		if (i % 5 == 1)
			getppid();
	}
	while (checksum % 9 != 4)
		mix(1);
	for (int i = 0; i < 5; i++)
		put(i);
	puts("end");
	_exit(total);
}
