/* SPDX-License-Identifier: MIT */
/* alloc.h: allocation that cannot fail: the process aborts when memory runs out, and only then. */
#ifndef FRED_BASE_ALLOC_H
#define FRED_BASE_ALLOC_H

#include <stddef.h>

/* As malloc, calloc, realloc, strdup, but never NULL. */
void *xmalloc(size_t n);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *p, size_t n);
/* As realloc of count * size bytes; aborts on overflow too. */
void *xreallocarray(void *p, size_t count, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);

#endif
