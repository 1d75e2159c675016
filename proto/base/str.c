// SPDX-License-Identifier: MIT
/* str.c: see str.h. */
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

char *str_vfmt(const char *fmt, va_list ap)
{
	struct buf b = {0};

	buf_vaddf(&b, fmt, ap);
	return buf_steal(&b);
}

char *str_dup(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

char *str_fmt(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = str_vfmt(fmt, ap);
	va_end(ap);
	return s;
}

void str_set(char **s, const char *fmt, ...)
{
	va_list ap;
	char *old = *s;

	va_start(ap, fmt);
	*s = str_vfmt(fmt, ap);
	va_end(ap);
	free(old);
}

bool str_starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

bool str_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && !memcmp(s + n - m, suffix, m);
}

bool str_eq(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

int str_u64(const char *s, int base, uint64_t min, uint64_t max, uint64_t *out)
{
	unsigned long long v;
	char *end;

	if (!s || !isalnum((unsigned char)*s))
		return -1;
	errno = 0;
	v = strtoull(s, &end, base);
	if (errno || *end || v < min || v > max)
		return -1;
	*out = v;
	return 0;
}

void strv_fini(struct strv *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->s[i]);
	free(v->s);
	*v = (struct strv){0};
}

void strv_take(struct strv *v, char *s)
{
	if (v->n + 2 > v->cap) {
		v->cap = v->cap ? v->cap * 2 : 8;
		v->s = xreallocarray(v->s, v->cap, sizeof(*v->s));
	}
	v->s[v->n++] = s;
	v->s[v->n] = NULL;
}

void strv_add(struct strv *v, const char *s)
{
	strv_take(v, xstrdup(s));
}

void strv_addf(struct strv *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strv_take(v, str_vfmt(fmt, ap));
	va_end(ap);
}

void strv_add_all(struct strv *v, const char *const *s)
{
	for (; s && *s; s++)
		strv_add(v, *s);
}

void strv_split(struct strv *v, const char *s, const char *sep)
{
	while (*s) {
		size_t n = strcspn(s, sep);

		if (n)
			strv_take(v, xstrndup(s, n));
		s += n;
		if (*s)
			s++;
	}
}

bool strv_has(const struct strv *v, const char *s)
{
	for (size_t i = 0; i < v->n; i++)
		if (!strcmp(v->s[i], s))
			return true;
	return false;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void strv_sort(struct strv *v)
{
	if (v->n > 1)
		qsort(v->s, v->n, sizeof(*v->s), compare);
}

char *strv_join(const struct strv *v, const char *sep)
{
	struct buf b = {0};

	for (size_t i = 0; i < v->n; i++) {
		if (i)
			buf_add_str(&b, sep);
		buf_add_str(&b, v->s[i]);
	}
	return buf_steal(&b);
}
