/* SPDX-License-Identifier: MIT */
/* An assertion in what qsort calls, about objects that were 0 at the beginning, too. KIND: assertion */
#include <assert.h>
#include <stdlib.h>

struct item {
	int key, valid;
};

static struct item items[8];

static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	assert(x->valid && y->valid);
	return x->key - y->key;
}

static void drop(int i)
{
	items[i].valid = 0; /* BUG */
}

int main(void)
{
	for (int i = 0; i < 8; i++)
		items[i] = (struct item){8 - i, 1};
	drop(5);
	qsort(items, 8, sizeof(items[0]), compare);
	return 0;
}
