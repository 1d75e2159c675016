/* SPDX-License-Identifier: MIT */
/* A name that was entered is not found any more. Its text stands in a buffer that had others before. KIND: segfault */
#include <stdio.h>
#include <string.h>

struct map {
	const char *name[4];
};

static const char *__attribute__((noinline)) find(struct map *m, const char *name)
{
	for (int i = 0; i < 4 && m->name[i]; i++)
		if (!strcmp(m->name[i], name))
			return m->name[i];
	return NULL;
}

static void __attribute__((noinline)) drop(struct map *m, int i)
{
	m->name[i] = NULL; /* BUG */
}

int main(void)
{
	struct map m = {{"n0", "n1", "n2", "n3"}};
	char name[8];
	int sum = 0;

	drop(&m, 1);
	for (int i = 0; i < 4; i += 3) {
		snprintf(name, sizeof(name), "n%d", i);
		sum += *find(&m, name);
	}
	return sum;
}
