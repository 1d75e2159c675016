/* SPDX-License-Identifier: MIT */
/*
 * buf.h: a growable byte buffer. There is always a NUL after the last byte, so that a text buffer's
 * data is a C string. Running out of memory aborts. `cleanup_buf struct buf b = {0};`
 */
#ifndef FRED_BASE_BUF_H
#define FRED_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

struct buf {
	char *data; /* NULL until something was added */
	size_t len; /* bytes in use, without the NUL */
	size_t cap; /* bytes allocated */
};

/* Frees the bytes; b is empty and usable afterwards. */
void buf_fini(struct buf *b);
/* Forgets the contents, keeps the memory. */
void buf_clear(struct buf *b);
/* Makes room for n more bytes (and the NUL); returns where they go. Then buf_added(b, n). */
char *buf_reserve(struct buf *b, size_t n);
/* n bytes were written at the place buf_reserve returned. */
void buf_added(struct buf *b, size_t n);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_add_char(struct buf *b, char c);
void buf_add_str(struct buf *b, const char *s);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vaddf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Drops the first n bytes (all, if there are fewer). */
void buf_consume(struct buf *b, size_t n);
/* The contents as a C string: "" when empty. Owned by b. */
const char *buf_str(const struct buf *b);
/* Takes the memory out as a malloc'd, NUL-terminated string; b is empty afterwards. */
char *buf_steal(struct buf *b);

#define cleanup_buf __attribute__((cleanup(buf_fini)))

#endif
