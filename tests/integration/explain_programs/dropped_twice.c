/* SPDX-License-Identifier: MIT */
/* A function that was lent an object drops the reference of its caller when it fails, and the caller drops it, too. KIND: segfault */ /* SAYS: taken 1 references and dropped 2 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session {
	int refs, id;
	char *user;
	struct session *next;
};

static struct session *list;

static void __attribute__((noinline)) put(struct session *s)
{
	if (--s->refs > 0)
		return;
	free(s);
}

static struct session *__attribute__((noinline)) find(int id)
{
	for (struct session *s = list; s; s = s->next)
		if (s->id == id) {
			s->refs++;
			return s;
		}
	return NULL;
}

static int __attribute__((noinline)) check(struct session *s, const char *what)
{
	if (strlen(what) > 4) {
		put(s); /* BUG */
		return -1;
	}
	return 0;
}

static void __attribute__((noinline)) command(int id, const char *what)
{
	struct session *s = find(id);

	if (s && !check(s, what))
		puts(s->user);
	if (s)
		put(s);
}

int main(void)
{
	list = calloc(1, sizeof(*list));
	*list = (struct session){1, 3, "ann", NULL};
	command(3, "list");
	command(3, "too long");
	memset(malloc(sizeof(*list)), 0x41, sizeof(*list));
	command(4, "list");
	return 0;
}
