/* SPDX-License-Identifier: MIT */
/*
 * str.h: strings, checked numbers, and vectors of strings. Functions that allocate abort when memory
 * runs out (alloc.h), so their results need no check.
 */
#ifndef FRED_BASE_STR_H
#define FRED_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

/* A copy; NULL of NULL. */
char *str_dup(const char *s);
/* A malloc'd formatted string. */
char *str_fmt(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *str_vfmt(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));
/* *s = str_fmt(...), the old *s is freed; the arguments may use the old *s. */
void str_set(char **s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
bool str_eq(const char *a, const char *b); /* NULL equals only NULL */

/*
 * The whole of s as a number in [min, max]; base 0 takes 0x and 0 prefixes. Returns 0, or -1 when s is
 * no number or out of range (then *out is untouched). No leading blanks.
 */
int str_u64(const char *s, int base, uint64_t min, uint64_t max, uint64_t *out);

/* A vector of owned strings, always followed by a NULL (v.s can be an argv). Zero-initialised: empty. */
struct strv {
	char **s; /* NULL only while nothing was ever added */
	size_t n;
	size_t cap;
};

void strv_fini(struct strv *v);
void strv_add(struct strv *v, const char *s); /* copies */
void strv_addf(struct strv *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strv_take(struct strv *v, char *s); /* owns s from now on */
/* Copies the strings of a NULL-terminated array. */
void strv_add_all(struct strv *v, const char *const *s);
/* Splits s at each of sep's characters; empty pieces are dropped. */
void strv_split(struct strv *v, const char *s, const char *sep);
bool strv_has(const struct strv *v, const char *s);
void strv_sort(struct strv *v); /* by byte value */
/* The strings joined with sep between them, malloc'd. */
char *strv_join(const struct strv *v, const char *sep);

#define cleanup_strv __attribute__((cleanup(strv_fini)))

#endif
