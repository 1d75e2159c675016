/* SPDX-License-Identifier: MIT */
/* never_written_strings.c: Functions of libc are given strings that were written in part. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

#define N 48

/* "abc...", of which only this many bytes are written. */
static char *letters(size_t n)
{
	char *p = malloc(N); /* ALLOC */

	for (size_t k = 0; k < n; k++)
		p[k] = (char)('a' + k % 26);
	return p;
}

static wchar_t *wide(size_t n)
{
	wchar_t *p = malloc(N * sizeof(*p)); /* ALLOC */

	for (size_t k = 0; k < n; k++)
		p[k] = (wchar_t)(0x100 + k);
	return p;
}

static int by_number(const void *a, const void *b)
{
	if (*(const int *)a < *(const int *)b) /* BAD: uninitialised */
		return -1;
	return 1;
}

static int good(void)
{
	char *p = letters(20), *q = letters(20), copy[N], *again;
	wchar_t *w = wide(9), *v = wide(9);
	int sum;

	p[19] = q[19] = 0;
	w[8] = v[8] = 0;
	sum = strcmp(p, q) + strncmp(p, q, 40) + memcmp(p, q, 20) + strcasecmp(p, q) + wcscmp(w, v);
	q[9] = 'X';
	sum += memcmp(p, q, 30) + strcmp(p, q) + strncmp(p, q, 9) + (strstr(p, "stu") != NULL) +
	       (strstr(p, "rs") != NULL);
	sum += (int)strspn(p, "abcdef") + (strpbrk(p, "xz") != NULL) + (strrchr(p, 'a') == p) + (int)wcslen(w) +
	       (wcschr(w, 3) != NULL);
	strncpy(copy, p, sizeof(copy));
	again = strdup(copy);
	sum += strcmp(again, p) + (strchr(again, 'z') != NULL) + (int)strlen(copy) + (strtok(again, "ek") != NULL);
	free(again);
	free(p);
	free(q);
	free(w);
	free(v);
	return sum;
}

int main(void)
{
	char *open = letters(20), *other = letters(20), area[N], text[80] = "";
	wchar_t *w = wide(9), *v = wide(9);
	int *numbers = malloc(6 * sizeof(*numbers)), sum = good(); /* ALLOC */

	other[25] = 0;
	for (int k = 0; k < 5; k++)
		numbers[k] = k * 7 % 5;
	memset(area, 0, sizeof(area));
	memcpy(area, open, 20);
	sum += strcmp(open, other); /* BAD: uninitialised */
	sum += strncmp(other, open, 21); /* BAD: uninitialised */
	sum += strncmp(other, open, 20);
	sum += memcmp(area, open, 22); /* BAD: uninitialised */
	sum += strcasecmp(other, open); /* BAD: uninitialised */
	sum += strstr(other, "tu") != NULL; /* BAD: uninitialised */
	sum += strstr("abcdefghijklmnopqrst", other + 18) != NULL; /* BAD: uninitialised */
	sum += strrchr(other, 'z') != NULL; /* BAD: uninitialised */
	sum += (int)strcspn(other, "z"); /* BAD: uninitialised */
	strncpy(area, other, 21); /* BAD: uninitialised */
	memset(area, 0, sizeof(area));
	strncat(area, other, 30); /* BAD: uninitialised */
	sum += (int)wcslen(w) > 20; /* BAD: uninitialised */
	sum += wcsncmp(w, v, 10); /* BAD: uninitialised */
	sum += wmemcmp(w, v, 9) + (wmemchr(w, 0x104, 12) != NULL);
	snprintf(text, sizeof(text), "%s", other); /* BAD: uninitialised */
	free(strdup(other)); /* BAD: uninitialised */
	qsort(numbers, 5, sizeof(numbers[0]), by_number);
	sum += bsearch(&sum, numbers + 5, 1, sizeof(numbers[0]), by_number) != NULL;
	if (sum == 12345)
		puts("");
	free(numbers);
	free(open);
	free(other);
	free(w);
	free(v);
	return 0;
}
