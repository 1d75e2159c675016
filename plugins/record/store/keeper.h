/* SPDX-License-Identifier: MIT */
/* keeper.h: keeper.c: the recording's files, by their full paths, also after rights were given up. */
#ifndef FRED_RECORD_KEEP_H
#define FRED_RECORD_KEEP_H

#include "record/core/state.h"

#include <stddef.h>
#include <stdint.h>

int keep_open(const char *path, int flags, int mode);
long keep_mkdir(const char *path, int mode);
long keep_rename(const char *path, const char *to);
void keep_unlink(const char *path);
int keep_exists(const char *path);
long keep_link(const char *path, const char *to); /* not after rights were given up */
int keep_open_asked(const char *path, int flags); /* has fredctl record open it */
/*
 * connect: before the process, or its child, enters another network namespace. follow: in there, makes the recording
 * accessible again.
 */
int keep_connect(void);
void keep_follow(int fd, int moved); /* also closes it */
int keep_reaches(void); /* could a new image in this process's place be recorded? */
/*
 * RLIMIT_FSIZE: is a file that ends there too long for this process? Then the functions below write it. They return 0,
 * or -errno.
 */
int keep_limited(uint64_t end);
long keep_grow(const char *path, uint64_t off, uint64_t end);
long keep_copy(const char *path, int from, uint64_t off, uint64_t end);
/* In any case: */
long keep_write(const char *path, int fd, const void *p, size_t n, uint64_t off);
long keep_append(const char *path, const void *p, size_t n);
/*
 * Calls fn in a process that shares all memory with this one, but has its own descriptors. Returns fn's result, or
 * -errno.
 */
long apart(long (*fn)(void *), void *arg);
/*
 * Calls fn here; if that fails for lack of a descriptor (-EMFILE), calls it again in a process that has free ones. but:
 * a descriptor that fn needs, or -1.
 */
long keep_with_room(long (*fn)(void *), void *arg, int but);

#endif
