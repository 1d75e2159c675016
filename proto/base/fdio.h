/* SPDX-License-Identifier: MIT */
/*
 * fdio.h: whole reads, whole writes, whole files. EINTR is always retried. Errors of the kind
 * ERR_USAGE mean that the named file does not exist; all others are ERR_INTERNAL (the message carries
 * the path and errno's text, and errno is still set).
 */
#ifndef FRED_BASE_FDIO_H
#define FRED_BASE_FDIO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Reads until n bytes or the end of the file. Returns bytes read (< n only at the end), or -1, errno. */
ssize_t read_full(int fd, void *p, size_t n);
ssize_t pread_full(int fd, void *p, size_t n, off_t at);
/* Writes all n bytes. Returns 0, or -1, errno. */
int write_full(int fd, const void *p, size_t n);
int pwrite_full(int fd, const void *p, size_t n, off_t at);

/* Appends everything up to the end of the file. Works on /proc files and pipes. */
int read_fd(int fd, struct buf *out, struct err *e);
int read_file(const char *path, struct buf *out, struct err *e);
/* Creates or truncates path and writes to it in place (for /proc, /sys, and files no one reads yet). */
int write_file(const char *path, const void *data, size_t len, mode_t mode, struct err *e);
/*
 * Replaces path by a file with these bytes: temporary file in the same folder, fsync, rename, fsync of the folder. A
 * reader of path sees the old or the new contents, also after a power failure.
 */
int write_file_atomic(const char *path, const void *data, size_t len, mode_t mode, struct err *e);

/* Copies the bytes from `from` (its current offset, up to its end) to `to`, sharing blocks if possible. */
int copy_fd(int from, int to, struct err *e);
/* Copies a regular file's contents to a new or truncated file; keeps mode & 07777, no owner, no times. */
int copy_file(const char *from, const char *to, struct err *e);
/* The offset at which the next data at or after `at` begin; `size`, the file's, if only a hole follows. */
off_t next_data(int fd, off_t at, off_t size);
/* Can both be read, and do they hold the same? */
bool same_bytes(const char *a, const char *b);

#endif
