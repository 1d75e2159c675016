/* SPDX-License-Identifier: MIT */
/* What is looked up is not there, and nobody asks whether it is: a member of a variable keeps the null pointer. KIND: segfault */
#include <stdio.h>
#include <string.h>

static const char *names[4], *values[4];

static const char *__attribute__((noinline)) find(const char *name)
{
	for (int i = 0; i < 4 && names[i]; i++)
		if (!strcmp(names[i], name))
			return values[i];
	return NULL;
}

struct server {
	const char *host;
	long port;
};

static void __attribute__((noinline)) load(struct server *s, const char *key)
{
	s->host = find(key); /* BUG */
	s->port = 80;
}

static unsigned __attribute__((noinline)) hash(const char *s)
{
	unsigned h = 0;

	while (*s)
		h = h * 31 + (unsigned char)*s++;
	return h;
}

int main(void)
{
	struct server a, b;

	names[0] = "main.host";
	values[0] = "example.org";
	names[1] = "backup.hots";
	values[1] = "example.com";
	load(&a, "main.host");
	load(&b, "backup.host");
	printf("%u %u\n", hash(a.host), hash(b.host));
	return 0;
}
