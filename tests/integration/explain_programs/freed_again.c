/* SPDX-License-Identifier: MIT */
/* KIND: segfault. A list's element is freed, and its memory has been two others' until the list is gone over on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct element {
	int *value;
	struct element *next;
};
static int one = 1;

static void drop(struct element *e)
{
	free(e);
}

static void other(int c)
{
	char *p = malloc(sizeof(struct element));

	memset(p, c, sizeof(struct element));
	__asm__ volatile("" : : "r"(p) : "memory"); /* else compilers leave it out */
	free(p);
}

int main(void)
{
	struct element *list = NULL;
	int sum = 0;

	for (int i = 0; i < 4; i++) {
		struct element *e = malloc(sizeof(*e));

		*e = (struct element){&one, list};
		list = e;
	}
	for (struct element *e = list; e; e = e->next) {
		sum += *e->value;
		if (sum == 2) {
			drop(e); /* BUG */
			other(0x11);
			other(0x22);
			other(0x33);
		}
	}
	printf("%d\n", sum);
	return 0;
}
