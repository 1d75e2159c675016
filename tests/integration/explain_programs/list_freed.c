/* SPDX-License-Identifier: MIT */
/* A list is freed by way of the elements that are freed already. KIND: double-free */
#include <stdlib.h>

struct element {
	struct element *next;
	int *data;
};

int main(void)
{
	struct element *head = NULL;

	for (int i = 0; i < 6; i++) {
		struct element *e = malloc(sizeof(*e));

		e->data = malloc(sizeof(int));
		e->next = head;
		head = e;
	}
	for (struct element *e = head; e; e = e->next) {
		free(e->data);
		free(e); /* BUG */
	}
	return 0;
}
