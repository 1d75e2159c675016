/* SPDX-License-Identifier: MIT */
/* One of many copies writes past the end of the last block; a realloc of NULL, which is a malloc, finds that. KIND: heap */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char word[] = "a word of some length";

int main(void)
{
	char *text = realloc(NULL, 3000 * sizeof(word)), *at = text;

	for (int i = 0; i < 3001; i++, at += sizeof(word))
		memcpy(at, word, sizeof(word)); /* BUG */
	at = realloc(NULL, 100);
	printf("%s %s\n", at, text);
	return 0;
}
