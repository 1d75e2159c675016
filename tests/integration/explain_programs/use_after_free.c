/* SPDX-License-Identifier: MIT */
/* A pointer is read out of a block that was freed. KIND: segfault */
#include <stdio.h>
#include <stdlib.h>

struct s {
	struct s *p;
	int n;
};

static struct s *cache;

static __attribute__((noinline)) void done(struct s *s)
{
	free(s);
}

int main(void)
{
	cache = malloc(sizeof(*cache));
	cache->p = cache;
	cache->n = 4;
	puts("a");
	done(cache); /* BUG */
	puts("b");
	printf("%d\n", cache->p->n);
	return 0;
}
