/* SPDX-License-Identifier: MIT */
/* vclock.c: see vclock.h. */
#include "racecheck/vclock.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void vclock_fini(struct vclock *c)
{
	free(c->v);
	*c = (struct vclock){0};
}

static void reach(struct vclock *c, uint32_t n)
{
	if (n <= c->n)
		return;
	if (n > c->cap) {
		c->cap = n > 2 * c->cap ? n : 2 * c->cap;
		c->v = xreallocarray(c->v, c->cap, sizeof(*c->v));
	}
	memset(c->v + c->n, 0, (n - c->n) * sizeof(*c->v));
	c->n = n;
}

void vclock_set(struct vclock *c, uint32_t thread, uint64_t clock)
{
	reach(c, thread + 1);
	c->v[thread] = clock;
}

bool vclock_join(struct vclock *to, const struct vclock *from)
{
	bool changed = false;

	reach(to, from->n);
	for (uint32_t i = 0; i < from->n; i++)
		if (from->v[i] > to->v[i]) {
			to->v[i] = from->v[i];
			changed = true;
		}
	return changed;
}

void vclock_copy(struct vclock *to, const struct vclock *from)
{
	reach(to, from->n);
	if (from->n)
		memcpy(to->v, from->v, from->n * sizeof(*to->v));
	if (to->n > from->n)
		memset(to->v + from->n, 0, (to->n - from->n) * sizeof(*to->v));
}
