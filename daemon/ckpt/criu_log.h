/* SPDX-License-Identifier: MIT */
/* criu_log.h: what went wrong, from CRIU's log. Pure apart from reading the file. */
#ifndef FRED_CKPT_CRIU_LOG_H
#define FRED_CKPT_CRIU_LOG_H

#include <stddef.h>

/*
 * The error lines of a log's text ("(00.012) Error (criu/mem.c:12): text"), without time and
 * source line, repeated ones once, joined by "; ". If there are more than `lines`, the first half
 * of that (the cause is usually there) and the last ones. Into out (always ended by a NUL).
 * Returns how many there were.
 */
int criu_log_errors(const char *text, int lines, char *out, size_t size);
/* The same for a file; 0 when it cannot be read. */
int criu_log_file_errors(const char *path, int lines, char *out, size_t size);

#endif
