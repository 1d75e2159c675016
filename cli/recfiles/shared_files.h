/* SPDX-License-Identifier: MIT */
/*
 * shared_files.h: $FRED_HOME/files: one copy of the files that several recordings have in their folders files/ (libc,
 * the program, the recorder). An object is named by its content (CRC32C and size), never modified, and a hard link of
 * the recordings' own files: so each recording is complete, and can be removed at any time; an object with one link is
 * garbage.
 */
#ifndef FRED_RECFILES_SHARED_FILES_H
#define FRED_RECFILES_SHARED_FILES_H

#include <jansson.h>

/*
 * Replaces the files of a recording, which its manifest names, by links of objects with the same bytes, or makes
 * objects of them. A file for which that fails (another file system, too many links) stays as it is. Being killed at
 * any time is safe.
 */
void shared_files_link(const char *rec, const json_t *manifest);
/* The same for one file of a recording, before a replay can use it: it is not replaced later. */
void shared_files_link_one(const char *path);
/* Removes objects that no recording uses. */
void shared_files_sweep(void);
/* Disk space of a recording in bytes: its own, which its removal frees, and that shared with others. */
void shared_files_usage(const char *rec, unsigned long long *own, unsigned long long *shared);

#endif
