/* SPDX-License-Identifier: MIT */
/* A write past the end of a block changes a pointer in the next one. KIND: segfault */
/* NOTES: malloc allocated the block of 16 bytes at smashed_block.c:14: its size may be what is wrong */
#include <stdlib.h>
#include <string.h>

struct words {
	const char *first;
	int n;
};

int main(void)
{
	char *line = malloc(16);
	struct words *w = malloc(sizeof(*w));

	w->first = "a";
	for (int i = 0; i < 5; i++)
		strcpy(line + i * 10, "some word"); /* BUG */
	return w->first[0];
}
