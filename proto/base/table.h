/* SPDX-License-Identifier: MIT */
/*
 * table.h: a hash table by numbers, with open addressing. An entry is a struct of the caller's, whose first member is
 * its key, a uint64_t other than 0. Entries lie in the table itself, and are not removed.
 */
#ifndef FRED_BASE_TABLE_H
#define FRED_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table {
	char *v; /* cap entries; the key of an empty one is 0 */
	size_t n, cap; /* cap: 0 or a power of two; at most half are in use */
	size_t size; /* of an entry, bytes */
};

/* Allocates nothing. */
void table_init(struct table *t, size_t size);
/* Frees the entries, not what they point to. Also of zeros; t becomes an empty table of the same entries. */
void table_fini(struct table *t);
/* The entry with this key, which is added if there is none: then it is 0 but for the key. Moves the others. */
void *table_add(struct table *t, uint64_t key);
/* The entries, in no order: the first one after NULL; NULL after the last one. */
void *table_next(const struct table *t, const void *entry);

/* The entry with this key, or the empty one where it would be. cap is not 0. */
static inline void *table_place(const struct table *t, uint64_t key)
{
	size_t k = (size_t)(key * 0x9e3779b97f4a7c15ull >> 20) & (t->cap - 1);

	for (;; k = (k + 1) & (t->cap - 1)) {
		void *entry = t->v + k * t->size;
		uint64_t is = *(const uint64_t *)entry;

		if (!is || is == key)
			return entry;
	}
}

/* The entry with this key; NULL: there is none. Valid until table_add. */
static inline void *table_find(const struct table *t, uint64_t key)
{
	void *entry = t->cap ? table_place(t, key) : NULL;

	return entry && *(const uint64_t *)entry ? entry : NULL;
}

#endif
