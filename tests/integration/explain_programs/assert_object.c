/* SPDX-License-Identifier: MIT */
/* An assertion by a loop over objects: one of them was spoilt long before the loop came to it. KIND: assertion */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct item {
	int used, size;
};

static struct item *items[50];

static __attribute__((noinline)) void spoil(struct item *it)
{
	it->used = it->size + 1; /* BUG */
}

static __attribute__((noinline)) void check_all(void)
{
	for (int i = 0; i < 50; i++) {
		struct item *it = items[i];

		assert(it->used <= it->size);
	}
}

int main(void)
{
	for (int i = 0; i < 50; i++) {
		items[i] = calloc(1, sizeof(*items[i]));
		items[i]->size = 10 + i;
	}
	check_all();
	puts("good");
	spoil(items[31]);
	puts("spoilt");
	check_all();
	return 0;
}
