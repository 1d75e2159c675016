/* SPDX-License-Identifier: MIT */
/* What is compared is a difference, and what was set later is only one of its terms. KIND: assertion */
#include <assert.h>

static struct {
	volatile int put, got;
} queue = {4, 4};

static void __attribute__((noinline)) get(int n)
{
	queue.got += n; /* BUG */
}

int main(void)
{
	get(3);
	queue.put = 5;
	assert(queue.put - queue.got == 0);
	return 0;
}
