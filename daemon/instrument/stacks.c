/* SPDX-License-Identifier: MIT */
/* stacks.c: see stacks.h. */
#include "instrument/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define FIRST 1024 /* a power of two */

static size_t hash(const uint64_t *pc, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++)
		h = (h ^ pc[i]) * 0x9e3779b97f4a7c15ull;
	return (size_t)(h >> 24);
}

/* The place of a stack in the table, or where it is to be put. */
static size_t place_of(const struct stacks *s, const uint64_t *pc, uint32_t n)
{
	size_t k = hash(pc, n) & (s->slots - 1);

	for (; s->slot[k]; k = (k + 1) & (s->slots - 1)) {
		const struct kept_stack *v = s->v[s->slot[k]];

		if (v->n == n && !memcmp(v->pc, pc, n * sizeof(*pc)))
			break;
	}
	return k;
}

static void grow(struct stacks *s)
{
	s->slots = s->slots ? s->slots * 2 : FIRST;
	free(s->slot);
	s->slot = xcalloc(s->slots, sizeof(*s->slot));
	for (size_t i = 1; i < s->n; i++)
		s->slot[place_of(s, s->v[i]->pc, s->v[i]->n)] = (uint32_t)i;
}

static void add(struct stacks *s, const uint64_t *pc, uint32_t n)
{
	struct kept_stack *v = xmalloc(sizeof(*v) + n * sizeof(*pc));

	if (s->n == s->cap) {
		s->cap = s->cap ? s->cap * 2 : FIRST;
		s->v = xreallocarray(s->v, s->cap, sizeof(struct kept_stack *));
	}
	v->n = n;
	if (n)
		memcpy(v->pc, pc, n * sizeof(*pc));
	s->v[s->n++] = v;
}

uint32_t stacks_number(struct stacks *s, const uint64_t *pc, uint32_t n)
{
	size_t k;

	if (!s->n)
		add(s, NULL, 0);
	if (!n)
		return 0;
	if (s->n * 2 >= s->slots)
		grow(s);
	k = place_of(s, pc, n);
	if (!s->slot[k]) {
		s->slot[k] = (uint32_t)s->n;
		add(s, pc, n);
	}
	return s->slot[k];
}

void stacks_fini(struct stacks *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	free(s->slot);
	memset(s, 0, sizeof(*s));
}
