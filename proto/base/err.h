/* SPDX-License-Identifier: MIT */
/*
 * err.h: how fallible functions report. They take a `struct err *e` last and return 0 or -1. The error
 * is set once where it happens, wrapped on the way up with what the caller knows, printed at the top.
 */
#ifndef FRED_BASE_ERR_H
#define FRED_BASE_ERR_H

#include <stdarg.h>

/* What kind of failure it is, which decides the exit code (err_exit_code). */
enum err_kind {
	ERR_NONE = 0,
	ERR_NOT_FOUND, /* not found, ends equal, a verification saw a difference: exit 1 */
	ERR_USAGE, /* bad arguments, bad expression, no such recording, damaged recording: exit 2 */
	ERR_INTERNAL, /* internal error, divergence: exit 70 */
	ERR_BUDGET, /* budget used up: exit 75 */
	ERR_HOST, /* this host cannot do it: exit 77 */
	ERR_CANCELLED, /* the client asked to stop: exit 130 */
	ERR_TIMEOUT, /* a program that fred works with (GDB) did not answer in time: exit 70 */
	ERR_KILLED, /* a process of the replay was killed from outside: exit 70 */
};

struct err {
	enum err_kind kind;
	int reason; /* tells causes apart for callers: a value of an enum of the module that set it; 0: none */
	char text[1024]; /* NUL-terminated, no newline at the end, "context: cause" */
};

/* Sets kind and message, and reason to 0; returns -1 so that callers can `return err_set(...)`. */
int err_set(struct err *e, enum err_kind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/*
 * As err_set with ": " and strerror(errno) appended. Kind as given, but ERR_INTERNAL is ERR_HOST for a full disk and
 * for the process's limits.
 */
int err_errno(struct err *e, enum err_kind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* As err_errno with ERR_HOST, after a fork that failed: it says which limit that may be due to. */
int err_fork(struct err *e, const char *what);
/* Puts "fmt: " before the message; kind and reason stay. Returns -1. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The exit code of a kind, as in fredctl(1). */
int err_exit_code(enum err_kind kind);
/* Its stable name ("usage", "internal", ...) for JSON, and back; unknown names give ERR_INTERNAL. */
const char *err_kind_name(enum err_kind kind);
enum err_kind err_kind_from_name(const char *name);

#endif
