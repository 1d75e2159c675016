/* SPDX-License-Identifier: MIT */
/* table.c: see table.h. */
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define FIRST 4096 /* entries; a power of two */

static uint64_t key_of(const char *entry)
{
	return *(const uint64_t *)entry;
}

void table_init(struct table *t, size_t size)
{
	*t = (struct table){.size = size};
}

void table_fini(struct table *t)
{
	free(t->v);
	table_init(t, t->size);
}

static void grow(struct table *t)
{
	const struct table old = *t;

	t->cap = old.cap ? old.cap * 2 : FIRST;
	t->v = xcalloc(t->cap, t->size);
	for (const char *p = table_next(&old, NULL); p; p = table_next(&old, p))
		memcpy(table_place(t, key_of(p)), p, t->size);
	free(old.v);
}

void *table_add(struct table *t, uint64_t key)
{
	uint64_t *entry = table_find(t, key);

	if (entry)
		return entry;
	if (t->n * 2 >= t->cap)
		grow(t);
	t->n++;
	entry = table_place(t, key);
	*entry = key;
	return entry;
}

void *table_next(const struct table *t, const void *entry)
{
	size_t k = entry ? (size_t)((const char *)entry - t->v) / t->size + 1 : 0;

	while (k < t->cap && !key_of(t->v + k * t->size))
		k++;
	return k < t->cap ? t->v + k * t->size : NULL;
}
