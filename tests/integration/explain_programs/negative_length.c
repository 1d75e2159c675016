/* SPDX-License-Identifier: MIT */
/* The length that memcpy gets is negative: the statement that computed it, not the copy. KIND: segfault */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
	size_t len;
	char s[40];
};

static struct text *__attribute__((noinline)) make(const char *s, size_t n)
{
	struct text *t = malloc(sizeof(*t));

	t->len = n;
	memcpy(t->s, s, n);
	return t;
}

int main(void)
{
	const char *const given = "abc,def,ghi";
	const char *a = given, *b = strchr(given, ',');
	struct text *first = make(a, (size_t)(b - a)), *second;

	a = b + 1;
	b = strchr(a, ',');
	second = make(a, (size_t)(a - b)); /* BUG */
	printf("%zu %zu\n", first->len, second->len);
	return 0;
}
