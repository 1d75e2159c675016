/* SPDX-License-Identifier: MIT */
/* KIND: assertion. What is asserted was never true of the object, whose member was set to another value. */
#include <assert.h>
#include <stdlib.h>

struct item {
	int users;
};
static struct item *item;

static void use(int users)
{
	item->users = users + 1; /* BUG */
}

int main(void)
{
	item = calloc(1, sizeof(*item));
	use(0);
	use(item->users);
	assert(item->users == 3);
	return 0;
}
