/* SPDX-License-Identifier: MIT */
/* KIND: segfault */
/* SAYS: past the end of names.list */
/* A member is read through a pointer that leads to a block which is too small: nothing has ever been written where the member is. */
#include <stdlib.h>
#include <string.h>
struct log {
	char text[400];
	int *count;
};
static struct {
	char *list[2];
	struct log *log;
} names;
static unsigned used;

static void add(const char *name)
{
	names.list[used++] = strdup(name); /* BUG */
}

int main(void)
{
	static int count;

	names.log = calloc(1, sizeof(*names.log));
	names.log->count = &count;
	add("one");
	add("two");
	++*names.log->count;
	add("three");
	++*names.log->count;
	return 0;
}
