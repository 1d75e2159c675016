// SPDX-License-Identifier: MIT
/* buf.c: a growable byte buffer, doubled when full. */
#include "base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void buf_fini(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

char *buf_reserve(struct buf *b, size_t n)
{
	size_t want, cap = b->cap ? b->cap : 64;

	if (n > SIZE_MAX / 4 - b->len)
		abort();
	want = b->len + n + 1;
	if (want > b->cap) {
		while (cap < want)
			cap *= 2;
		b->data = xrealloc(b->data, cap);
		b->cap = cap;
	}
	b->data[b->len] = '\0';
	return b->data + b->len;
}

void buf_added(struct buf *b, size_t n)
{
	b->len += n;
	b->data[b->len] = '\0';
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	char *to = buf_reserve(b, n);

	if (n)
		memcpy(to, p, n);
	buf_added(b, n);
}

void buf_add_char(struct buf *b, char c)
{
	*buf_reserve(b, 1) = c;
	buf_added(b, 1);
}

void buf_add_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return;
	vsnprintf(buf_reserve(b, (size_t)n), (size_t)n + 1, fmt, ap);
	buf_added(b, (size_t)n);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(b, fmt, ap);
	va_end(ap);
}

void buf_consume(struct buf *b, size_t n)
{
	if (n >= b->len) {
		buf_clear(b);
		return;
	}
	memmove(b->data, b->data + n, b->len - n + 1);
	b->len -= n;
}

const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}

char *buf_steal(struct buf *b)
{
	char *s;

	buf_reserve(b, 0);
	s = b->data;
	*b = (struct buf){0};
	return s;
}
