/* SPDX-License-Identifier: MIT */
/* A second holder of an object takes no reference: a drop of another one, which is right, frees it too early. KIND: segfault */ /* SAYS: took no reference */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct conn {
	int refs;
	char *name;
};

struct worker {
	struct conn *conn;
	int jobs;
};

static struct worker workers[3];

static struct conn *conn_new(const char *name)
{
	struct conn *c = calloc(1, sizeof(*c));

	c->refs = 1;
	c->name = strdup(name);
	return c;
}

static struct conn *conn_get(struct conn *c)
{
	c->refs++;
	return c;
}

static void conn_put(struct conn *c)
{
	if (--c->refs)
		return;
	free(c->name);
	free(c);
}

static void attach(struct worker *w, struct conn *c)
{
	w->conn = conn_get(c);
}

static void take_over(struct worker *w, const struct worker *from)
{
	w->conn = from->conn; /* BUG */
	w->jobs = from->jobs;
}

static void detach(struct worker *w)
{
	conn_put(w->conn);
	w->conn = NULL;
}

int main(void)
{
	struct conn *c = conn_new("one");

	attach(&workers[0], c);
	attach(&workers[1], c);
	conn_put(c);
	take_over(&workers[2], &workers[1]);
	detach(&workers[0]);
	detach(&workers[1]);
	memset(malloc(sizeof(*c)), 0x41, sizeof(*c));
	puts(workers[2].conn->name);
	detach(&workers[2]);
	return 0;
}
