/* SPDX-License-Identifier: MIT */
/* A check of the index lets too much through, and the write past the end is found much later. KIND: heap */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct body {
	size_t size, n;
	char *code;
};

static void __attribute__((noinline)) add(struct body *b, char c)
{
	size_t at = b->n++;

	if (at >= b->size + 16) { /* BUG */
		b->code = realloc(b->code, 2 * b->size);
		b->size *= 2;
	}
	b->code[at] = c;
}

int main(void)
{
	struct body b = {64, 0, malloc(64)};
	char *other = malloc(64);

	memset(other, 1, 64);
	for (int i = 0; i < 78; i++)
		add(&b, (char)i);
	printf("%zu\n", b.n);
	free(other);
	free(b.code);
	return 0;
}
