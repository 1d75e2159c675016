/* SPDX-License-Identifier: MIT */
/* program.h: the path and the environment that an image is started with in a replay (execve(2)). */
#ifndef FRED_TARGET_PROGRAM_H
#define FRED_TARGET_PROGRAM_H

#include "base/err.h"
#include "base/str.h"
#include "reclog/rec.h"

/*
 * *path: malloc'd, for the launcher; below root. /proc/self/exe and the like name
 * another file in a replay: instead, a link to what they named, whose path is as long, since it stands on the stack.
 */
int program_path(const struct rec *rec, const struct rec_image *img, const char *root, char **path, struct err *e);
/* As recorded, but for the recorder's own variable, which has the same length. strv_fini in any case. */
int program_env(const struct rec_image *img, struct strv *env, struct err *e);

#endif
