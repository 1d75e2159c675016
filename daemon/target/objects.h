/* SPDX-License-Identifier: MIT */
/*
 * objects.h: the libraries that the dynamic linker had mapped before the recorder started, so that no event has their
 * addresses. The addresses are in pNNNN/files, and must be the same in a replay.
 */
#ifndef FRED_TARGET_OBJECTS_H
#define FRED_TARGET_OBJECTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "launch/objects.h"
#include "reclog/files.h"

struct objects {
	const char *dir; /* the recording's, borrowed */
	struct rec_files files;
	const struct rec_file **f; /* of files: those that had a load address at the start */
	unsigned n;
};

/* Reads those of an EXEC image. objects_fini in any case. */
int objects_read(struct objects *o, const struct rec *rec, uint32_t process, struct err *e);
void objects_fini(struct objects *o);
/*
 * Is one of them at another address in this process, which has run its dynamic linker? *which: the first one; *now:
 * where it begins, 0: it is not mapped.
 */
bool objects_moved(const struct objects *o, pid_t pid, const struct rec_file **which, uint64_t *now);
/*
 * Where the launcher is to map the recording's copies: o->n or fewer. Malloc'd. tree: the copies of tree.h; "": those
 * in the recording.
 */
struct launch_object *objects_places(const struct objects *o, const char *tree, unsigned *n);

#endif
