/* SPDX-License-Identifier: MIT */
/* deeds.h: a deed (blocks.h) as a part of a check's result: its position, statement and stack. */
#ifndef FRED_MEMCHECK_DEEDS_H
#define FRED_MEMCHECK_DEEDS_H

#include <jansson.h>

#include "base/str.h"
#include "gdb/gdb.h"
#include "memcheck/blocks.h"
#include "memcheck/stacks.h"
#include "replay/navigate.h"

/* What deeds are described with: borrowed, but for GDB and the notes. */
struct deeds {
	const struct rec *rec;
	struct nav *nav;
	const struct stacks *stacks;
	struct gdb *g;
	struct strv notes; /* about source files, each once */
};

/* GDB is attached to nav's process, which must have the code mapped that is on the stacks. 0, or -1: e is set. */
int deeds_open(struct deeds *d, const struct rec *rec, struct nav *nav, const struct stacks *stacks, struct err *e);
/* Before nav ends; also of zeros. */
void deeds_fini(struct deeds *d);

/* {at, position, location, backtrace} of man/fredctl.1: a new reference. */
json_t *deeds_json(struct deeds *d, const struct deed *deed);

#endif
