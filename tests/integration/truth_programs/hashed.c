/* SPDX-License-Identifier: MIT */
/*
 * hashed.c: a hash table with chains: lookups by the program's own functions in the expression.
 *
 * LEVELS: -O2
 * EXPR: lookup("k3") == 0 || lookup("k3")->v < 20
 * AS: py: all(int(x['v']) < 20 for i in range(4) for x in each('t.bucket[%d]' % i) if x['key'].string() == 'k3')
 * MAYBE: yes
 * EXPR: t.n <= 6
 * EXPR: get(2, -1) != 31
 * AS: py: all(int(x['v']) != 31 for i in range(4) for x in each('t.bucket[%d]' % i) if x['key'].string() == 'k2')
 * MAYBE: yes
 * EXPR: t.bucket[1]->v < 15
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile int pass;
struct entry {
	char key[8];
	int v;
	struct entry *next;
};
struct {
	int n;
	struct entry *bucket[4];
} t;

static unsigned hash(const char *s)
{
	unsigned h = 0;

	while (*s)
		h = h * 31 + (unsigned char)*s++;
	return h % 4;
}

struct entry *lookup(const char *key)
{
	for (struct entry *e = t.bucket[hash(key)]; e; e = e->next)
		if (strcmp(e->key, key) == 0)
			return e;
	return NULL;
}

int get(int i, int none)
{
	char key[8] = {'k', (char)('0' + i)};
	struct entry *e = lookup(key);

	return e ? e->v : none;
}

__attribute__((noinline)) static void set(const char *key, int v)
{
	struct entry *e = lookup(key);

	if (!e) {
		unsigned h = hash(key);
		e = calloc(1, sizeof *e);
		strcpy(e->key, key);
		e->next = t.bucket[h];
		t.bucket[h] = e;
		t.n++;
	}
	e->v = v;
}

int main(void)
{
	for (int i = 0; i < 14; i++) {
		char key[8] = {'k', (char)('0' + i % 5)};

		pass = i;
		set(key, i * 2);
		if (i == 8)
			set("k3", 25);
		if (i % 6 == 2)
			printf("%d\n", get(i % 5, -1));
	}
	set("k3", 21);
	set("k2", 31);
	set("k5", 16);
	set("k6", 17);
	puts("end");
	_exit(1);
}
