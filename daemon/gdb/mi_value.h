/* SPDX-License-Identifier: MIT */
/*
 * mi_value.h: the tree that a GDB/MI record carries: strings, tuples and lists (GDB manual, "GDB/MI
 * Output Syntax"). Plain data; every lookup takes NULL and answers NULL.
 */
#ifndef FRED_GDB_MI_VALUE_H
#define FRED_GDB_MI_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum mi_kind { MI_STRING, MI_TUPLE, MI_LIST };

struct mi_value {
	enum mi_kind kind;
	char *name; /* of a result ("name=value"); NULL: a bare value */
	char *str; /* MI_STRING: unescaped, NUL-terminated */
	size_t len; /* MI_STRING: bytes in str, which may hold a NUL */
	struct mi_value **item; /* MI_TUPLE, MI_LIST */
	size_t n;
};

/* Returns a new empty value, NULL when memory is short. Frees a whole tree; takes NULL. */
struct mi_value *mi_value_new(enum mi_kind kind);
void mi_value_free(struct mi_value *v);
/* Appends item, which v then owns. Returns -1 when memory is short (item is still the caller's). */
int mi_value_add(struct mi_value *v, struct mi_value *item);

/* The first item of a tuple or list with this name; NULL: none. Borrowed. */
const struct mi_value *mi_get(const struct mi_value *v, const char *name);
/* The text of item `name`; NULL when there is none or it is no string. Borrowed. */
const char *mi_str(const struct mi_value *v, const char *name);
/* The number in item `name` (decimal, or hexadecimal with 0x); -1 and unset when it is none. */
int mi_u64(const struct mi_value *v, const char *name, uint64_t *out);
int mi_int(const struct mi_value *v, const char *name, int *out);

#endif
