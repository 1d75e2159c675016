/* SPDX-License-Identifier: MIT */
/* good_strings.c: Functions of libc that read more than they use. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

int main(void)
{
	size_t sum = 0;

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
