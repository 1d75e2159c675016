/* SPDX-License-Identifier: MIT */
/* KIND: segfault or heap */
/* SAYS: past the end of the block of 64 bytes */
/* A row is copied behind the end of a block, to an address that was computed. What it damages are two words, and the sum of them
 * is the address of the access that fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct source {
	const char *bytes;
	size_t at;
};

__attribute__((noinline)) static void put(char *rows, size_t row, const char *from)
{
	memcpy(rows + row * 16, from, 16); /* BUG */
}

int main(void)
{
	char *rows = malloc(64);
	struct source *s = malloc(sizeof(*s));
	char text[128];

	memset(text, 0xee, sizeof(text));
	s->bytes = text;
	s->at = 0;
	for (size_t i = 0; i < 8; i++)
		put(rows, i, text);
	puts(s->bytes + s->at);
	return 0;
}
