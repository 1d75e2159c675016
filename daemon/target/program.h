/* SPDX-License-Identifier: MIT */
/* program.h: the path and the environment with which an image is started in a replay (execve(2)). */
#ifndef FRED_TARGET_PROGRAM_H
#define FRED_TARGET_PROGRAM_H

#include "base/err.h"
#include "base/str.h"
#include "reclog/rec.h"

/*
 * *path: malloc'd, for the launcher; below root. In a replay, /proc/self/exe and the like would name another file: then
 * it is a link to the right file, with a path of the same length, since the path is on the stack.
 */
int program_path(const struct rec *rec, const struct rec_image *img, const char *root, char **path, struct err *e);
/* The recorded environment, except the recorder's own variable, which has the same length. strv_fini in any case. */
int program_env(const struct rec_image *img, struct strv *env, struct err *e);

#endif
