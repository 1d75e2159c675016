/* SPDX-License-Identifier: MIT */
/* A function says by -1 that it has found nothing, and the statement that keeps it does not ask: a length becomes negative. KIND: segfault */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct span {
	const char *base;
	int start, end;
};

static int __attribute__((noinline)) find(const char *s, char c, int from)
{
	for (int i = from; s[i]; i++)
		if (s[i] == c)
			return i;
	return -1;
}

static void __attribute__((noinline)) cut(struct span *p, const char *line)
{
	p->base = line;
	p->start = find(line, ':', 0) + 1;
	p->end = find(line, ';', p->start); /* BUG */
}

static void __attribute__((noinline)) print(const struct span *p)
{
	static char text[64];
	int n = p->end - p->start;

	memcpy(text, p->base + p->start, n);
	text[n] = '\0';
	puts(text);
}

int main(void)
{
	const char *lines[] = {"a:one;", "bb:two;", "ccc:three"};
	struct span s;

	for (int i = 0; i < 3; i++) {
		cut(&s, lines[i]);
		print(&s);
	}
	return 0;
}
