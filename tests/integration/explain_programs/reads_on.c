/* SPDX-License-Identifier: MIT */
/* A function reads on in a text. Where it stood elsewhere, it read something else: that is no cause. KIND: segfault */
#include <stdio.h>
#include <string.h>

struct pattern {
	size_t length;
	char text[20];
};
static struct pattern *last, store;

static struct pattern *__attribute__((noinline)) read_pattern(const char **at)
{
	const char until[] = {**at, '\n', 0};
	size_t n = strcspn(++*at, until);

	if (!n)
		return last; /* BUG: there may be none */
	memcpy(store.text, *at, n);
	store.length = n;
	*at += n;
	last = &store;
	return last;
}

static size_t __attribute__((noinline)) command(const char **at)
{
	struct pattern *p;

	++*at;
	p = read_pattern(at);
	return p->length;
}

int main(void)
{
	char text[] = "g//p\n";
	const char *at = text;

	printf("%zu\n", command(&at));
	return 0;
}
