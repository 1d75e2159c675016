/* SPDX-License-Identifier: MIT */
/* KIND: segfault */
/* SAYS: past the end of names.list */
/* A function of libc reads an object through a pointer that leads to a block which is too small to be one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static struct {
	char *list[2];
	FILE *log;
} names;
static unsigned used;

static void add(const char *name)
{
	names.list[used++] = strdup(name); /* BUG */
}

int main(void)
{
	names.log = stdout;
	add("one");
	add("two");
	fputs(names.list[0], names.log);
	add("three");
	fputs(names.list[1], names.log);
	return 0;
}
