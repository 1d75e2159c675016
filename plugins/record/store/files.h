/* SPDX-License-Identifier: MIT */
/* files.h: copies of files in the recording. */
#ifndef FRED_RECORD_FILES_H
#define FRED_RECORD_FILES_H

#include "record/core/state.h"

#include <stdint.h>

/* The copy of a file in the recording, by its struct stat (144 bytes). */
void files_copy_path(char *buf, char *end, const uint64_t *st);
/* Copies the file of fd into the recording, once. Sets its struct stat. 0, or -errno. */
long files_keep(int fd, uint64_t *st, int shared);
/*
 * The same with the struct stat given, and only if nothing has to be copied: the copy exists, or the file system can
 * share blocks.
 */
long files_clone(int fd, const uint64_t *st);
/* Copies bytes [off, end), or as many of them as there are. 0, or -1. */
int files_copy_range(int from, int to, uint64_t off, uint64_t end);
/* Recording: keeps and lists what this image was started from. */
void files_start(const char *execfn);
/* Recording: lists a file with code that was mapped, and copied, later. */
void files_loaded(int fd, const uint64_t *st, uint64_t base);

#endif
