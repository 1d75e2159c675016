/* SPDX-License-Identifier: MIT */
/* An assertion in a loop, about an object on the stack that it takes the address of. No event is near. KIND: assertion */
#include <assert.h>
#include <stddef.h>

struct entry {
	unsigned key;
	struct entry *next;
};

struct map {
	struct entry *bucket[8];
	unsigned n;
};

static struct entry *__attribute__((noinline)) find(struct map *m, unsigned key)
{
	struct entry *e = m->bucket[key % m->n];

	while (e && e->key != key)
		e = e->next;
	return e;
}

static void __attribute__((noinline)) add(struct map *m, struct entry *e, unsigned key)
{
	e->key = key;
	e->next = m->bucket[key % m->n];
	m->bucket[key % m->n] = e;
}

static void __attribute__((noinline)) grow(struct map *m)
{
	m->n = 8; /* BUG */
}

int main(void)
{
	struct map m = {.n = 4};
	struct entry e[5];

	for (unsigned i = 0; i < 5; i++) {
		if (i == 4)
			grow(&m);
		add(&m, &e[i], i * 3);
	}
	for (unsigned i = 0; i < 5; i++)
		assert(find(&m, i * 3));
	return 0;
}
