/* SPDX-License-Identifier: MIT */
/*
 * suppress.h: findings that are not to be reported: files as Valgrind reads them (its manual, section 2.5), for
 * Memcheck. Pure.
 *
 * Three things are different: functions of C++ are named as fred shows them; of obj: only what stands after the last
 * slash counts; and `match-leak-kinds` is not looked at.
 */
#ifndef FRED_MEMCHECK_SUPPRESS_H
#define FRED_MEMCHECK_SUPPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define SUPPRESS_ANY_ADDR "Addr" /* a kind that matches Addr1, Addr2 and so on */

struct suppress_frame {
	const char *function, *module, *file; /* file names without folders; NULL: not known */
	int line; /* 0: not known */
};

struct suppression {
	char *name, *kind; /* the kind without the tool */
	struct strv frames; /* "fun:main", "obj:libc.so.6", "src:main.c:3", "..." */
	uint64_t count; /* findings that it has suppressed */
};

struct suppressions {
	struct suppression *v;
	size_t n, cap;
};

/* Adds what is in the text of a file. ERR_USAGE: a line of it is wrong. */
int suppressions_parse(struct suppressions *s, const char *text, struct err *e);
void suppressions_fini(struct suppressions *s);
/*
 * Is a finding of this kind ("Cond", "Addr4") suppressed? frames: the innermost first. inner: functions of which one
 * may be the innermost frame, in front of these, ended by NULL; NULL: none. Counts it.
 */
bool suppressions_match(struct suppressions *s, const char *kind, const struct suppress_frame *frames, size_t n,
			const char *const *inner);
/* A suppression for this finding alone; malloc'd. inner: the innermost function, NULL: none. */
char *suppression_text(const char *kind, const struct suppress_frame *frames, size_t n, const char *inner);

#endif
