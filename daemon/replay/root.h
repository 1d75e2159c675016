/* SPDX-License-Identifier: MIT */
/*
 * root.h: the file system that a replayed program is started in. Where the files that it was started from still are
 * what they were, that is the host's. Else the cell gets a root of its own, with the recording's copies at their
 * places, and nothing else: a program, its libraries and the linker's cache may be gone or changed, or never have been
 * here.
 */
#ifndef FRED_REPLAY_ROOT_H
#define FRED_REPLAY_ROOT_H

#include <stdbool.h>

#include "base/err.h"
#include "reclog/rec.h"

/*
 * Prepares the start of an EXEC image. follow: the FORK images that it becomes, ended by 0; their files are for the
 * debugger. own: the folder in which the program must be started; "": on the host, where the recorder is in its
 * place now. As pid 1 of a cell; again in the same cell is fine.
 */
int root_prepare(const struct rec *rec, const struct rec_image *img, const uint32_t *follow, char own[64],
		 struct err *e);
/* In this cell's root, on the host's files, is the recorder another one than stands at its place outside? */
bool root_has_other_recorder(void);

#endif
