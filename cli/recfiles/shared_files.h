/* SPDX-License-Identifier: MIT */
/*
 * shared_files.h: $FRED_HOME/files: one copy of what several recordings keep in their folders files/ (libc, the program, the
 * recorder). An object is named by its content, CRC32C and size, never written again, and a hard link of the
 * recordings' own files: so that a recording is whole by itself, can be removed by anybody, and an object with one link
 * is garbage.
 */
#ifndef FRED_RECFILES_SHARED_FILES_H
#define FRED_RECFILES_SHARED_FILES_H

#include <jansson.h>

/*
 * Makes the copied files of a recording, which are in its manifest, links of the shared ones with the same bytes, or shares
 * them. What cannot be (another file system, no more links) stays a file of its own. May be killed at any moment.
 */
void shared_files_link(const char *rec, const json_t *manifest);
/* The same for one file, below a recording's folder, that a replay may use from now on: it is not replaced any more. */
void shared_files_link_one(const char *path);
/* Removes objects that no recording uses. */
void shared_files_sweep(void);
/* Bytes of blocks below a recording's folder: its own, which its removal gives back, and those shared with others. */
void shared_files_usage(const char *rec, unsigned long long *own, unsigned long long *shared);

#endif
