// SPDX-License-Identifier: MIT
/*
 * err.c: filling in a struct err. Every function accepts a NULL error: the caller then only wants to
 * know that it failed.
 */
#include "base/err.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int exit_code;
} kinds[] = {
	[ERR_NONE] = {"none", 0},
	[ERR_NOT_FOUND] = {"not-found", 1},
	[ERR_USAGE] = {"usage", 2},
	[ERR_INTERNAL] = {"internal", 70},
	[ERR_BUDGET] = {"budget", 75},
	[ERR_HOST] = {"host", 77},
	[ERR_CANCELLED] = {"cancelled", 130},
	[ERR_TIMEOUT] = {"timeout", 70},
	[ERR_KILLED] = {"killed", 70},
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* An error is one line: whatever text it was made from, newlines become spaces. */
static void one_line(char *s)
{
	size_t n = strlen(s);

	while (n && (s[n - 1] == '\n' || s[n - 1] == '\r'))
		s[--n] = '\0';
	for (; *s; s++)
		if (*s == '\n' || *s == '\r')
			*s = ' ';
}

/* Which limit of the process may be the reason, and how to change it. */
static const char *limit_of(int errnum)
{
	return errnum == EFBIG	  ? " (a limit on the size of files: ulimit -f)"
	       : errnum == EMFILE ? " (a limit on open files: ulimit -n)"
				  : "";
}

/* If the host has no room, or a limit is reached, that is not an internal error. */
static enum err_kind kind_for(enum err_kind kind, int errnum)
{
	bool host = errnum == EFBIG || errnum == ENOSPC || errnum == EDQUOT || errnum == EMFILE || errnum == ENFILE;

	return kind == ERR_INTERNAL && host ? ERR_HOST : kind;
}

static void set_text(struct err *e, enum err_kind kind, const char *fmt, va_list ap, int errnum)
{
	/* formatted into another buffer, since the arguments may point into e->text */
	char text[sizeof(e->text)];

	vsnprintf(text, sizeof(text), fmt, ap);
	if (errnum)
		snprintf(e->text, sizeof(e->text), "%.*s: %s%s", (int)sizeof(text) - 128, text, strerror(errnum),
			 limit_of(errnum));
	else
		memcpy(e->text, text, sizeof(text));
	one_line(e->text);
	e->kind = kind_for(kind, errnum);
	e->reason = 0;
}

int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	set_text(e, kind, fmt, ap, 0);
	va_end(ap);
	return -1;
}

int err_errno(struct err *e, enum err_kind kind, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	set_text(e, kind, fmt, ap, saved ? saved : EIO);
	va_end(ap);
	errno = saved;
	return -1;
}

int err_fork(struct err *e, const char *what)
{
	return err_errno(e, ERR_HOST, "%s%s", what,
			 errno == EAGAIN ? " (too many processes: ulimit -u, or the cgroup's pids.max)" : "");
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char context[256], cause[sizeof(e->text)];
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	memcpy(cause, e->text, sizeof(cause));
	snprintf(e->text, sizeof(e->text), "%s: %.*s", context, (int)(sizeof(cause) - sizeof(context) - 2), cause);
	one_line(e->text);
	if (e->kind == ERR_NONE)
		e->kind = ERR_INTERNAL;
	return -1;
}

int err_exit_code(enum err_kind kind)
{
	return (size_t)kind < N_KINDS ? kinds[kind].exit_code : kinds[ERR_INTERNAL].exit_code;
}

const char *err_kind_name(enum err_kind kind)
{
	return (size_t)kind < N_KINDS ? kinds[kind].name : kinds[ERR_INTERNAL].name;
}

enum err_kind err_kind_from_name(const char *name)
{
	for (size_t i = 0; name && i < N_KINDS; i++)
		if (!strcmp(kinds[i].name, name))
			return (enum err_kind)i;
	return ERR_INTERNAL;
}
