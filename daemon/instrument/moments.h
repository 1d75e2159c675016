/* SPDX-License-Identifier: MIT */
/* moments.h: a moment (stacks.h) as a part of a check's result: its position, statement and stack. */
#ifndef FRED_INSTRUMENT_MOMENTS_H
#define FRED_INSTRUMENT_MOMENTS_H

#include <jansson.h>

#include "base/str.h"
#include "gdb/gdb.h"
#include "instrument/blocks.h"
#include "instrument/code.h"
#include "instrument/modules.h"
#include "instrument/stacks.h"
#include "replay/navigate.h"

/* What moments are described with: borrowed, but for GDB, the modules and the notes. */
struct moment_describer {
	const struct rec *rec;
	struct nav *nav;
	const struct stacks *stacks;
	const struct code *code;
	struct gdb *g;
	struct code_files modules;
	struct strv notes; /* about source files, each once */
};

/*
 * GDB is attached to nav's process, in which the code on the stacks is mapped. For code that was unmapped only the file
 * is named. 0, or -1: e is set.
 */
int moment_describer_open(struct moment_describer *d, const struct rec *rec, struct nav *nav,
			  const struct stacks *stacks, const struct code *code, struct err *e);
/* To be called before nav ends. Can be called on a zeroed struct. */
void moment_describer_fini(struct moment_describer *d);

/* {at, position, location, backtrace} of man/fredctl.1: a new reference. */
json_t *moment_json(struct moment_describer *d, const struct moment *moment);

#endif
