/* SPDX-License-Identifier: MIT */
/* kept.h: the files of a program as they were when it was recorded, for a debugger: the recording's copies. */
#ifndef FRED_DEBUG_KEPT_H
#define FRED_DEBUG_KEPT_H

#include "reclog/rec.h"

/*
 * Opens the copy of the file that these process images knew by this absolute path. A descriptor, or a negative error
 * number. Nothing but the recording's copies can be opened: a debugger may be anybody who reaches the port.
 */
int kept_open(const struct rec *rec, const uint32_t *images, unsigned n, const char *path);

#endif
