/* SPDX-License-Identifier: MIT */
/*
 * root.h: the file system in which a replayed program is started: a root of its own, which has only the recording's
 * copies at their places. The program, its libraries and the linker's cache may be gone or changed on the host, or
 * never have been there; and what runs is what somebody put into the recording, so it must see nothing of the host. All
 * of it is read-only, except the control page and the files for its output.
 */
#ifndef FRED_TARGET_ROOT_H
#define FRED_TARGET_ROOT_H

#include <stdbool.h>

#include "base/err.h"
#include "reclog/rec.h"
#include "rlog/replay.h"

/* Where a cell, and also a root, has the recording; malloc'd. */
char *root_rec(void);

/*
 * In a plain cell (cell/plain.h) there is no such root: `own` becomes "" if the host's files, of those with which the
 * program begins, are what they were; else the tree of tree.h.
 * Prepares the start of an EXEC image. follow: the FORK images that it becomes, ended by 0; their files are for the
 * debugger. own: the folder in which the program must be started. *on_host: the host's files still are what they were,
 * so that a debugger may read them. As pid 1 of a cell; again in the same cell, also for
 * another recording, is fine when no process is in it.
 */
int root_prepare(const struct rec *rec, const struct rec_image *img, const uint32_t *follow, char own[64],
		 bool *on_host, struct err *e);
/* Makes path a symbolic link in such a root; replaces one that is there. */
int root_link(const char *own, const char *path, const char *to, struct err *e);

#endif
