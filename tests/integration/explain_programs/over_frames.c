/* SPDX-License-Identifier: MIT */
/* CFLAGS: -fno-stack-protector */
/* An array on the stack is overrun into its callers' frames: what is read there has not outlived its function. KIND: segfault */
#include <stdio.h>
#include <string.h>

static int seen;

static int section(const char *s)
{
	char word[24];
	int i = 0;

	while (*s && *s != ':')
		word[i++] = *s++; /* BUG */
	word[i] = 0;
	seen += !strcmp(word, "NAME");
	return i;
}

static int page(const char **l)
{
	int n = 0;

	for (; *l; l++)
		n += section(*l);
	return n;
}

int main(void)
{
	const char *l[] = {"NAME: x", "SYNOPSIS: x [OPTION]",
			   "THIS IS A HEADING THAT IS LONGER THAN ANYBODY THOUGHT WHEN THIS WAS WRITTEN: y", NULL};

	printf("%d %d\n", page(l), seen);
	return 0;
}
