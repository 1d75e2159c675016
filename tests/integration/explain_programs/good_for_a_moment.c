/* SPDX-License-Identifier: MIT */
/* KIND: assertion. A count is wrong since one element; with each later one it is right between two statements. */
#include <assert.h>
#include <stdlib.h>

struct element {
	struct element *next;
};
static struct element *list;
static int count;

static int length(void)
{
	int n = 0;

	for (struct element *e = list; e; e = e->next)
		n++;
	return n;
}

static void add(int i)
{
	struct element *e = malloc(sizeof(*e));

	e->next = list;
	list = e;
	count++;
	if (i == 2)
		count++; /* BUG */
}

int main(void)
{
	for (int i = 0; i < 6; i++)
		add(i);
	assert(length() == count);
	return 0;
}
