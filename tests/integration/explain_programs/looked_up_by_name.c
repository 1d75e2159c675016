/* SPDX-License-Identifier: MIT */
/*
 * A name that was never entered is looked up. That the same call found something while another name was in its buffer
 * is no cause: the chain ends where nobody asked whether it was found. KIND: segfault
 */
#include <stdio.h>
#include <string.h>

struct entry {
	char name[8];
	int value;
};

static struct entry table[3];

static struct entry *__attribute__((noinline)) find(const char *name)
{
	for (int i = 0; i < 3; i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

int main(void)
{
	char name[8];
	int sum = 0;

	for (int i = 0; i < 3; i++)
		snprintf(table[i].name, sizeof(table[i].name), "n%d", i == 1 ? 9 : i);
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		sum += find(name)->value; /* BUG */
	}
	return sum;
}
