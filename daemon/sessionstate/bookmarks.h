/* SPDX-License-Identifier: MIT */
/* bookmarks.h: positions that the user gave a name: bookmarks, and checkpoints, whose names are numbers. */
#ifndef FRED_SESSIONSTATE_BOOKMARKS_H
#define FRED_SESSIONSTATE_BOOKMARKS_H

#include <jansson.h>

#include "base/buf.h"
#include "reclog/timeline.h"

struct bookmark {
	char *name;
	struct timeline_point at;
	uint64_t image; /* for a checkpoint: its number in the store (ckpt/store.h); 0: there is no image */
};

struct bookmarks {
	struct bookmark *v;
	unsigned n;
	unsigned last; /* the highest number given as a name */
};

void bookmarks_fini(struct bookmarks *p);
/*
 * Gives this position a name, which may have named another one before. "": the next number. The result is valid until
 * the next change.
 */
struct bookmark *bookmarks_set(struct bookmarks *p, const char *name, const struct timeline_point *at);
/* NULL: there is none. */
const struct bookmark *bookmarks_find(const struct bookmarks *p, const char *name);
/* Does nothing if there is none of this name. */
void bookmarks_remove(struct bookmarks *p, const char *name);
/* Lists them, one a line; writes `none` if there are none. */
void bookmarks_list(const struct bookmarks *p, const char *none, struct buf *out);
/* "N/0xPC#HITS" */
void bookmarks_add_position(struct buf *out, const struct timeline_point *at);

/* {"last", "places": [{"name", "event", "pc", "hits", "image"}]}, and back into an empty one. */
json_t *bookmarks_json(const struct bookmarks *p);
int bookmarks_read(struct bookmarks *p, const json_t *v, struct err *e);

#endif
