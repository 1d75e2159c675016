/* SPDX-License-Identifier: MIT */
/* thread_list.c: see thread_list.h. */
#include "visibility/thread_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define NO_TID (1 << 22) /* PID_MAX_LIMIT of the kernel: no thread has this or a larger one */
#define NOBODY (1 << 30) /* ids of places without a thread */

static int free_id(const struct lineup *l, int32_t tid)
{
	int id = tid;

	while (lineup_by_id(l, id))
		id += NO_TID;
	return id;
}

static void grow_to(struct lineup *l, unsigned n)
{
	if (n > l->cap) {
		l->cap = n > 2 * l->cap ? n : 2 * l->cap;
		l->v = xreallocarray(l->v, l->cap, sizeof(l->v[0]));
	}
	for (; l->n < n; l->n++)
		l->v[l->n] = (struct lineup_thread){.ordinal = l->n + 1, .id = NOBODY + (int)l->n + 1};
}

void lineup_add(struct lineup *l, uint32_t process, uint32_t ordinal, int32_t tid, uint64_t first)
{
	unsigned at = ordinal - 1;

	if (at < l->n && l->v[at].process)
		at = l->n;
	grow_to(l, at + 1);
	l->v[at] = (struct lineup_thread){process, ordinal, tid, free_id(l, tid), first};
}

void lineup_fini(struct lineup *l)
{
	free(l->v);
	memset(l, 0, sizeof(*l));
}

const struct lineup_thread *lineup_by_id(const struct lineup *l, int id)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->v[i].id == id)
			return &l->v[i];
	return NULL;
}

const struct lineup_thread *lineup_find(const struct lineup *l, uint32_t ordinal, int32_t tid)
{
	const struct lineup_thread *first = NULL;

	for (unsigned i = 0; i < l->n; i++) {
		const struct lineup_thread *t = &l->v[i];

		if (!t->process || t->ordinal != ordinal)
			continue;
		if (t->tid == tid)
			return t;
		first = first ? first : t;
	}
	return first;
}
