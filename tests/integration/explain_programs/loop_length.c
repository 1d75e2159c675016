/* SPDX-License-Identifier: MIT */
/* How far a loop goes is a length times a constant, and the length was overwritten. KIND: segfault */
#include <stdio.h>

struct buffer {
	char data[12];
	volatile unsigned len;
};

static int history[64];
static struct buffer buffer;

static void __attribute__((noinline)) fill(char *data, unsigned n)
{
	for (unsigned i = 0; i < n; i++) /* BUG too, where the compiler says that it wrote */
		data[i] = '#'; /* BUG */
}

static long __attribute__((noinline)) sum(const struct buffer *b)
{
	long sum = 0;

	for (unsigned i = 0; i < b->len * 100000; i++)
		sum += ((volatile int *)history)[i];
	return sum;
}

int main(void)
{
	fill(buffer.data, sizeof(buffer.data) + 2);
	printf("%ld\n", sum(&buffer));
	return 0;
}
