/* SPDX-License-Identifier: MIT */
/* bookmarks.c: see bookmarks.h. */
#include "sessionstate/bookmarks.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/str.h"

void bookmarks_fini(struct bookmarks *p)
{
	for (unsigned i = 0; i < p->n; i++)
		free(p->v[i].name);
	free(p->v);
	memset(p, 0, sizeof(*p));
}

static struct bookmark *find(const struct bookmarks *p, const char *name)
{
	for (unsigned i = 0; i < p->n; i++)
		if (!strcmp(p->v[i].name, name))
			return &p->v[i];
	return NULL;
}

struct bookmark *bookmarks_set(struct bookmarks *p, const char *name, const struct timeline_point *at)
{
	cleanup_free char *number = *name ? NULL : str_fmt("%u", ++p->last);
	const char *text = number ? number : name;
	struct bookmark *place = find(p, text);

	if (!place) {
		p->v = xreallocarray(p->v, p->n + 1, sizeof(p->v[0]));
		place = &p->v[p->n++];
		place->name = xstrdup(text);
	}
	place->at = *at;
	place->image = 0;
	return place;
}

const struct bookmark *bookmarks_find(const struct bookmarks *p, const char *name)
{
	return find(p, name);
}

void bookmarks_remove(struct bookmarks *p, const char *name)
{
	struct bookmark *place = find(p, name);

	if (!place)
		return;
	free(place->name);
	memmove(place, place + 1, (size_t)(p->v + p->n - (place + 1)) * sizeof(*place));
	p->n--;
}

void bookmarks_add_position(struct buf *out, const struct timeline_point *at)
{
	buf_addf(out, "%llu/0x%llx#%llu", (unsigned long long)at->event, (unsigned long long)at->pc,
		 (unsigned long long)at->hits);
}

void bookmarks_list(const struct bookmarks *p, const char *none, struct buf *out)
{
	if (!p->n)
		buf_addf(out, "%s\n", none);
	for (unsigned i = 0; i < p->n; i++) {
		buf_addf(out, "%-12s ", p->v[i].name);
		bookmarks_add_position(out, &p->v[i].at);
		buf_add_char(out, '\n');
	}
}

json_t *bookmarks_json(const struct bookmarks *p)
{
	json_t *all = json_array();

	for (unsigned i = 0; i < p->n; i++) {
		const struct bookmark *x = &p->v[i];

		json_array_append_new(all, json_pack("{s:o, s:I, s:I, s:I, s:I}", "name",
						     json_text(x->name, strlen(x->name)), "event",
						     (json_int_t)x->at.event, "pc", (json_int_t)x->at.pc, "hits",
						     (json_int_t)x->at.hits, "image", (json_int_t)x->image));
	}
	return json_pack("{s:i, s:o}", "last", (int)p->last, "places", all);
}

static int read_one(struct bookmarks *p, const json_t *v, struct err *e)
{
	struct timeline_point at;
	const char *name;
	uint64_t image;

	if (json_get_str(v, "name", &name, e) || json_get_u64(v, "event", &at.event, e) ||
	    json_get_u64(v, "pc", &at.pc, e) || json_get_u64(v, "hits", &at.hits, e) ||
	    json_get_u64(v, "image", &image, e))
		return -1;
	bookmarks_set(p, name, &at)->image = image;
	return 0;
}

int bookmarks_read(struct bookmarks *p, const json_t *v, struct err *e)
{
	json_t *all, *one;
	uint64_t last;
	size_t i;

	if (json_get_u64(v, "last", &last, e) || json_get_arr(v, "places", &all, e))
		return -1;
	json_array_foreach(all, i, one) if (read_one(p, one, e)) return -1;
	p->last = (unsigned)last;
	return 0;
}
