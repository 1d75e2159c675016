/* SPDX-License-Identifier: MIT */
/* KIND: segfault. A table does not find a name: an entry was taken out of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	const char *name;
	struct entry *next;
	int value;
};
static struct entry *table[4];

static struct entry **head_of(const char *name)
{
	return &table[strlen(name) % 4];
}

static void add(const char *name, int value)
{
	struct entry *e = malloc(sizeof(*e)), **head = head_of(name);

	*e = (struct entry){name, *head, value};
	*head = e;
}

static void take_out(const char *name)
{
	struct entry **p = head_of(name);

	while (*p && strcmp((*p)->name, name))
		p = &(*p)->next;
	if (*p)
		*p = (*p)->next; /* BUG */
}

static struct entry *find(const char *name)
{
	for (struct entry *e = *head_of(name); e; e = e->next)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}

int main(void)
{
	add("one", 1);
	add("two", 2);
	add("three", 3);
	take_out("two");
	add("six", 6);
	printf("%d\n", find("one")->value);
	printf("%d\n", find("two")->value);
	return 0;
}
