/* SPDX-License-Identifier: MIT */
/* A function frees a list, as it should; it is called for an element that is still in another one. KIND: double-free */
#include <stdlib.h>

struct element {
	struct element *next;
	char *text;
};

static void __attribute__((noinline)) list_free(struct element *e)
{
	while (e) {
		struct element *next = e->next;

		free(e->text);
		free(e);
		e = next;
	}
}

int main(void)
{
	struct element *list = NULL;

	for (int i = 0; i < 4; i++) {
		struct element *e = calloc(1, sizeof(*e));

		e->text = malloc(8);
		e->next = list;
		list = e;
	}
	for (struct element *e = list, *next; e; e = next) {
		next = e->next;
		list_free(e); /* BUG: and with it all that follow */
	}
	return 0;
}
