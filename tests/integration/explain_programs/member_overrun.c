/* SPDX-License-Identifier: MIT */
/* KIND: jump. An array inside an object is too short: what stands after it there is a pointer to a function. */
#include <stdio.h>
#include <string.h>

struct parser {
	const char *word[4];
	void (*report)(int n);
	int n;
};

static void report(int n)
{
	printf("%d\n", n);
}

static void split(struct parser *p, char *s)
{
	char *end;

	while (*s) {
		end = s + strcspn(s, " ");
		p->word[p->n++] = s; /* BUG */
		s = end + (*end == ' ');
		*end = '\0';
	}
}

int main(void)
{
	static struct parser p = {.report = report};
	char text[] = "one two three four five";

	split(&p, text);
	p.report(p.n);
	return 0;
}
