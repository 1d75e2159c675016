/* SPDX-License-Identifier: MIT */
/* paths.c: see paths.h. */
#include "racecheck/paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define FIRST 4096 /* a power of two */
#define HASH 0x9e3779b97f4a7c15ull

static void grow(struct paths *p);

void paths_init(struct paths *p)
{
	memset(p, 0, sizeof(*p));
	p->n = 1;
	grow(p);
}

void paths_fini(struct paths *p)
{
	free(p->v);
	free(p->slot);
	memset(p, 0, sizeof(*p));
}

static uint32_t *place_of(const struct paths *p, uint32_t parent, uint64_t pc)
{
	size_t k = (size_t)((pc * HASH ^ parent) * HASH >> 32) & (p->slots - 1);

	for (; p->slot[k]; k = (k + 1) & (p->slots - 1)) {
		const struct path *v = &p->v[p->slot[k]];

		if (v->pc == pc && v->parent == parent)
			break;
	}
	return &p->slot[k];
}

static void grow(struct paths *p)
{
	p->slots = p->slots ? p->slots * 2 : FIRST;
	p->cap = p->slots / 2 + 1;
	p->v = xreallocarray(p->v, p->cap, sizeof(*p->v));
	p->v[0] = (struct path){0};
	free(p->slot);
	p->slot = xcalloc(p->slots, sizeof(*p->slot));
	for (size_t i = 1; i < p->n; i++)
		*place_of(p, p->v[i].parent, p->v[i].pc) = (uint32_t)i;
}

uint32_t paths_number(struct paths *p, uint32_t parent, uint64_t pc)
{
	uint32_t *s = place_of(p, parent, pc);

	if (*s)
		return *s;
	if (p->n == p->cap) {
		grow(p);
		s = place_of(p, parent, pc);
	}
	p->v[p->n] = (struct path){pc, parent};
	*s = (uint32_t)p->n;
	return (uint32_t)p->n++;
}

uint32_t paths_calls(const struct paths *p, uint32_t number, uint64_t *pc, uint32_t most)
{
	uint32_t n = 0;

	for (; number && n < most; number = p->v[number].parent)
		pc[n++] = p->v[number].pc;
	return n;
}
