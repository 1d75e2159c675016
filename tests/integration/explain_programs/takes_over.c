/* SPDX-License-Identifier: MIT */
/* A function drops its caller's reference, as it is for; its caller uses the object afterwards. KIND: segfault */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
	int refs, id;
	char *what;
};

static void __attribute__((noinline)) put(struct job *j)
{
	if (--j->refs > 0)
		return;
	free(j);
}

static void __attribute__((noinline)) finish(struct job *j)
{
	j->refs++;
	j->id = -j->id;
	put(j);
	put(j);
}

int main(void)
{
	struct job *j = calloc(1, sizeof(*j));

	*j = (struct job){1, 3, "work"};
	finish(j); /* BUG */
	memset(malloc(sizeof(*j)), 0x41, sizeof(*j));
	puts(j->what);
	return 0;
}
