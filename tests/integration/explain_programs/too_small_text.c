/* SPDX-License-Identifier: MIT */
/* A block has the size of a pointer, and a function of the library writes a member of what it is for. KIND: heap */ /* SAYS: smaller than the type */
#include <stdio.h>
#include <stdlib.h>

struct job {
	int id;
	char name[40];
};

static struct job *add(int id, const char *name)
{
	struct job *j = malloc(sizeof(j)); /* BUG */

	j->id = id;
	snprintf(j->name, sizeof(j->name), "%s", name);
	return j;
}

int main(void)
{
	struct job *first = add(1, "link"), *second = add(2, "compile all of the sources");

	add(3, "test");
	printf("%d %d\n", first->id, second->id);
	return 0;
}
