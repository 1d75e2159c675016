/* SPDX-License-Identifier: MIT */
/* places.h: positions that the user gave a name: bookmarks, and checkpoints, whose names are numbers. */
#ifndef FRED_DEBUG_PLACES_H
#define FRED_DEBUG_PLACES_H

#include <jansson.h>

#include "base/buf.h"
#include "reclog/timeline.h"

struct place {
	char *name;
	struct timeline_point at;
	uint64_t image; /* of a checkpoint: its number in the store (ckpt/store.h); 0: there is none */
};

struct places {
	struct place *v;
	unsigned n;
	unsigned last; /* the highest number given as a name */
};

void places_fini(struct places *p);
/* A name that is in use is given to this position. "": the next number. Valid until the next change. */
struct place *places_set(struct places *p, const char *name, const struct timeline_point *at);
/* NULL: there is none. */
const struct place *places_find(const struct places *p, const char *name);
/* Fine if there is none. */
void places_remove(struct places *p, const char *name);
/* One a line; `none` when there are none. */
void places_list(const struct places *p, const char *none, struct buf *out);
/* "N/0xPC#HITS" */
void places_add_position(struct buf *out, const struct timeline_point *at);

/* {"last", "places": [{"name", "event", "pc", "hits", "image"}]}, and back into an empty one. */
json_t *places_json(const struct places *p);
int places_read(struct places *p, const json_t *v, struct err *e);

#endif
