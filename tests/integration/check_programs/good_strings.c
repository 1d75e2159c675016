/* SPDX-License-Identifier: MIT */
/* good_strings.c: Functions of libc that read more than they use. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <wchar.h>

/* Right in front of memory that may not be read. */
static size_t at_edge(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), other[80];
	size_t sum = 0;

	if (page == MAP_FAILED || mprotect(page + 4096, 4096, PROT_NONE))
		return 0;
	memset(other, 'a', sizeof(other));
	for (size_t n = 1; n < 70; n++) {
		char *s = page + 4096 - n;

		memset(s, 'a', n);
		sum += memcmp(s, other, n) == 0 && memcmp(other, s, n) == 0 && strncmp(s, other, n) == 0;
		s[n - 1] = other[n - 1] = 0;
		sum += strcmp(s, other) == 0 && strlen(s) == n - 1 && strstr(other, s) == other;
		other[n - 1] = 'a';
	}
	return sum;
}

int main(void)
{
	size_t sum = at_edge();

	for (size_t n = 1; n < 200; n++) {
		char *s = malloc(n), *t = malloc(n);
		wchar_t *w = malloc(n * sizeof(*w));

		memset(s, 'a', n - 1);
		s[n - 1] = 0;
		memcpy(t, s, n);
		wmemset(w, L'a', n - 1);
		w[n - 1] = 0;
		sum += strlen(s) + wcslen(w) + strnlen(s, n) + (strcmp(s, t) == 0) + (memcmp(s, t, n) == 0);
		sum += (strchr(s, 'b') != NULL) + (strrchr(s, 'a') != NULL) + (memchr(s, 0, n) != NULL);
		sum += (strstr(s, "aab") != NULL) + strspn(s, "a") + strcspn(s, "b") + (strncmp(s, t, n) == 0);
		sum += (size_t)(stpcpy(t, s) - t) + (memrchr(s, 'a', n) != NULL) + (strcasecmp(s, t) == 0);
		strncpy(t, s, n);
		free(s);
		free(t);
		free(w);
	}
	printf("%zu\n", sum);
	return 0;
}
