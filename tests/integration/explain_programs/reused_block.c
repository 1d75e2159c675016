/* SPDX-License-Identifier: MIT */
/* Use after free: the block belongs to somebody else meanwhile. KIND: segfault */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct session {
	long id;
	char *name;
};
struct request {
	long length;
	long kind;
};
static struct session *current;
static struct session *session_new(long id)
{
	struct session *s = malloc(sizeof(*s));
	s->id = id;
	s->name = strdup("guest");
	return s;
}
static void session_end(struct session *s)
{
	free(s->name);
	free(s);
}
static struct request *request_new(long kind)
{
	struct request *r = malloc(sizeof(*r));
	r->length = 100;
	r->kind = kind;
	return r;
}
int main(void)
{
	current = session_new(1);
	printf("%s\n", current->name);
	session_end(current); /* BUG */
	struct request *r = request_new(7);
	printf("%ld\n", r->length);
	printf("%zu\n", strlen(current->name));
	return 0;
}
