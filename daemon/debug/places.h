/* SPDX-License-Identifier: MIT */
/* places.h: positions that the user gave a name, for this session. */
#ifndef FRED_DEBUG_PLACES_H
#define FRED_DEBUG_PLACES_H

#include "base/buf.h"
#include "reclog/timeline.h"

struct place {
	char *name;
	struct timeline_point at;
};

struct places {
	struct place *v;
	unsigned n;
	unsigned last; /* the highest number given as a name */
};

void places_fini(struct places *p);
/* A name that is in use is given to this position. "": the next number. Returns the name. */
const char *places_set(struct places *p, const char *name, const struct timeline_point *at);
/* NULL: there is none. */
const struct timeline_point *places_find(const struct places *p, const char *name);
void places_list(const struct places *p, struct buf *out);

#endif
