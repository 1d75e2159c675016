/* SPDX-License-Identifier: MIT */
/* A bad pointer goes through memcpy, whose registers may not be readable. KIND: segfault */
#include <string.h>

struct rec {
	char name[40];
	int *value;
	char more[80];
};

static struct rec table[2], current;
static int number;

static void reset(struct rec *r)
{
	r->value = (int *)8; /* BUG */
}

int main(void)
{
	table[1].value = &number;
	reset(&table[1]);
	memcpy(&current, &table[1], sizeof(current));
	return *current.value;
}
