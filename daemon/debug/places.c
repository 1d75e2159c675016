/* SPDX-License-Identifier: MIT */
/* places.c: see places.h. */
#include "debug/places.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

void places_fini(struct places *p)
{
	for (unsigned i = 0; i < p->n; i++)
		free(p->v[i].name);
	free(p->v);
	memset(p, 0, sizeof(*p));
}

static struct place *find(const struct places *p, const char *name)
{
	for (unsigned i = 0; i < p->n; i++)
		if (!strcmp(p->v[i].name, name))
			return &p->v[i];
	return NULL;
}

const char *places_set(struct places *p, const char *name, const struct timeline_point *at)
{
	cleanup_free char *number = *name ? NULL : str_fmt("%u", ++p->last);
	const char *text = number ? number : name;
	struct place *place = find(p, text);

	if (!place) {
		p->v = xreallocarray(p->v, p->n + 1, sizeof(p->v[0]));
		place = &p->v[p->n++];
		place->name = xstrdup(text);
	}
	place->at = *at;
	return place->name;
}

const struct timeline_point *places_find(const struct places *p, const char *name)
{
	const struct place *place = find(p, name);

	return place ? &place->at : NULL;
}

void places_list(const struct places *p, struct buf *out)
{
	if (!p->n)
		buf_add_str(out, "no bookmarks\n");
	for (unsigned i = 0; i < p->n; i++)
		buf_addf(out, "%-12s %llu/0x%llx#%llu\n", p->v[i].name, (unsigned long long)p->v[i].at.event,
			 (unsigned long long)p->v[i].at.pc, (unsigned long long)p->v[i].at.hits);
}
