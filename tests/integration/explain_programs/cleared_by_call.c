/* SPDX-License-Identifier: MIT */
/* A function sets to 0 what it is given the address of, as it should; it should not have been called. KIND: segfault */
#include <stdio.h>

struct word {
	int length;
	const char *text;
};
typedef struct word *word;
static struct word first = {3, "one"};

static void __attribute__((noinline)) forget(word *w)
{
	if (*w)
		*w = NULL;
}

static int __attribute__((noinline)) length(struct word **w, int again)
{
	int n = (*w)->length;

	if (!again)
		forget(w); /* BUG */
	return n;
}

int main(void)
{
	struct word *w = &first;
	int n = length(&w, 0);

	printf("%d\n", n + length(&w, 1));
	return 0;
}
