/* SPDX-License-Identifier: MIT */
/* abort() under a condition. KIND: abort */
#include <stdio.h>
#include <stdlib.h>

static struct {
	int open, uses;
} door = {1, 0};

static __attribute__((noinline)) void shut(void)
{
	door.open = 0; /* BUG */
}

static __attribute__((noinline)) void use(void)
{
	if (!door.open) {
		fprintf(stderr, "the door is shut\n");
		abort();
	}
	door.uses++;
}

int main(void)
{
	use();
	puts("a");
	shut();
	puts("b");
	use();
	return 0;
}
