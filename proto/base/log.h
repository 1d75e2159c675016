/* SPDX-License-Identifier: MIT */
/*
 * log.h: diagnostics, one event a line, never on standard output. A file that logs begins with
 *
 *     #define LOG_DOMAIN "ckpt"
 *     #include "base/log.h"
 *
 * Line: "2025-01-31T12:00:00.123 warn ckpt s3: message" ("s3" is the calling thread's log_session).
 * To a terminal or a pipe: "fred: message" for errors and warnings, with the domain at higher levels.
 * Each line is one write, so that processes that share a log file do not mix their lines.
 */
#ifndef FRED_BASE_LOG_H
#define FRED_BASE_LOG_H

#include <stdarg.h>

#include "base/err.h"

enum log_level { LOG_LEVEL_ERROR = 0, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* What is above this level is dropped. At the start: LOG_LEVEL_WARN, or $FRED_LOG (error ... debug). */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);
/* By name; returns -1 when there is no such level. */
int log_level_from_name(const char *name, enum log_level *level);
/* Appends to this file (mode 0600) from now on, with time stamps. NULL: back to standard error. */
int log_open(const char *path, struct err *e);
/* Names the session in the following lines of this process; "" or NULL: none. At most 31 bytes are kept. */
void log_session(const char *id);

void log_write(enum log_level level, const char *domain, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#ifdef LOG_DOMAIN
#define log_error(...) log_write(LOG_LEVEL_ERROR, LOG_DOMAIN, __VA_ARGS__)
#define log_warn(...) log_write(LOG_LEVEL_WARN, LOG_DOMAIN, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, LOG_DOMAIN, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, LOG_DOMAIN, __VA_ARGS__)
#endif

#endif
