/* SPDX-License-Identifier: MIT */
/*
 * shared_files.h: $FRED_HOME/files: one copy of the files that several recordings have in their folders files/ (libc,
 * the program, the recorder). An object is named by its content (CRC32C and size), never modified, and a hard link of
 * the recordings' own files: so each recording is complete, and can be removed at any time; an object that no recording
 * links is garbage.
 *
 * $FRED_HOME/files/known has a second link of some objects, by which the recorder finds a copy of a file that it would
 * make again. It is named by the original's device, inode, size and times (plugins/record/store/files.c).
 */
#ifndef FRED_RECFILES_SHARED_FILES_H
#define FRED_RECFILES_SHARED_FILES_H

#include <jansson.h>

/*
 * Replaces the files of a recording that its manifest names by links of objects with the same bytes, or makes them
 * objects. If that fails for a file (another file system, too many links), it stays as it is. It is safe to be killed
 * at any time.
 */
void shared_files_link(const char *rec, const json_t *manifest);
/* Does the same for one file, before a replay can use it: it is not replaced later. */
void shared_files_link_one(const char *path);
/*
 * While a recording is made, REC/known is a link to $FRED_HOME/files/known. Without that, the recorder copies all
 * files.
 */
void shared_files_begin(const char *rec);
void shared_files_end(const char *rec);
/* Removes objects that no recording uses. */
void shared_files_sweep(void);
/* Disk space of a recording in bytes: its own, which its removal frees, and that shared with others. */
void shared_files_usage(const char *rec, unsigned long long *own, unsigned long long *shared);

#endif
