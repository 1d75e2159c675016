/* SPDX-License-Identifier: MIT */
/* thread_list.c: see thread_list.h. */
#include "visibility/thread_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define NO_TID (1 << 22) /* no thread has this TID or a larger one (the kernel's PID_MAX_LIMIT) */
#define NOBODY (1 << 30) /* the ids of places without a thread begin here */

static int free_id(const struct thread_list *l, int32_t tid)
{
	int id = tid;

	while (thread_list_by_id(l, id))
		id += NO_TID;
	return id;
}

static void grow_to(struct thread_list *l, unsigned n)
{
	if (n > l->cap) {
		l->cap = n > 2 * l->cap ? n : 2 * l->cap;
		l->v = xreallocarray(l->v, l->cap, sizeof(l->v[0]));
	}
	for (; l->n < n; l->n++)
		l->v[l->n] = (struct thread_list_entry){.ordinal = l->n + 1, .id = NOBODY + (int)l->n + 1};
}

void thread_list_add(struct thread_list *l, uint32_t process, uint32_t ordinal, int32_t tid, uint64_t first)
{
	unsigned at = ordinal - 1;

	if (at < l->n && l->v[at].process)
		at = l->n;
	grow_to(l, at + 1);
	l->v[at] = (struct thread_list_entry){process, ordinal, tid, free_id(l, tid), first};
}

void thread_list_fini(struct thread_list *l)
{
	free(l->v);
	memset(l, 0, sizeof(*l));
}

const struct thread_list_entry *thread_list_by_id(const struct thread_list *l, int id)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->v[i].id == id)
			return &l->v[i];
	return NULL;
}

const struct thread_list_entry *thread_list_find(const struct thread_list *l, uint32_t ordinal, int32_t tid)
{
	const struct thread_list_entry *first = NULL;

	for (unsigned i = 0; i < l->n; i++) {
		const struct thread_list_entry *t = &l->v[i];

		if (!t->process || t->ordinal != ordinal)
			continue;
		if (t->tid == tid)
			return t;
		first = first ? first : t;
	}
	return first;
}
