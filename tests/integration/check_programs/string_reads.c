/* SPDX-License-Identifier: MIT */
/* string_reads.c: Functions of libc are given strings without end, and more bytes than there are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *letters(size_t n)
{
	char *p = malloc(n); /* ALLOC */

	memset(p, 'a', n);
	return p;
}

int main(void)
{
	char *open = letters(24), *freed = letters(40), copy[256], area[64] = "a string that is longer than a vector.";
	size_t sum;

	sum = strlen(open); /* BAD: outside */
	sum += memchr(open, 'b', 25) != NULL; /* BAD: outside */
	memcpy(copy, open, 100); /* BAD: outside */
	memmove(copy, open, 25); /* BAD: outside */
	strcpy(copy, open + 1); /* BAD: outside */
	strcat(copy, open); /* BAD: outside */
	sum += strcmp(open, "aaaaaaaaaaaaaaaaaaaaaaaaaaaa") != 0; /* BAD: outside */
	sum += strncmp(copy, open, 24) != 0;
	strncpy(copy, open, 30); /* BAD: outside */
	sum += memcmp(copy, open, strnlen(open, 24)) == 0 && memcmp(open + 8, open, 16) == 0;
	memcpy(area + 1, area, 10); /* BAD: overlap */
	memmove(area, area + 1, 10);
	memcpy(area + 20, area, 20);
	strcpy(area + 1, area + 3); /* BAD: overlap */
	free(freed); /* FREE */
	sum += strchr(freed, 'a') != NULL; /* BAD: use-after-free */
	free(open);
	printf("%d\n", sum != 1 && copy[0] != area[0]);
	return 0;
}
