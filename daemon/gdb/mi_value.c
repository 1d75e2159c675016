/* SPDX-License-Identifier: MIT */
/* mi_value.c: building, freeing and looking up MI value trees. No I/O. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "gdb/mi_value.h"

struct mi_value *mi_value_new(enum mi_kind kind)
{
	struct mi_value *v = calloc(1, sizeof(*v));

	if (v)
		v->kind = kind;
	return v;
}

/* The parser limits the depth, so recursion is bounded. */
void mi_value_free(struct mi_value *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->n; i++)
		mi_value_free(v->item[i]);
	free(v->item);
	free(v->name);
	free(v->str);
	free(v);
}

int mi_value_add(struct mi_value *v, struct mi_value *item)
{
	/* The room grows in powers of two: full exactly when n is 0 or a power of two. */
	if (!(v->n & (v->n - 1))) {
		size_t room = v->n ? v->n * 2 : 1;
		struct mi_value **p = reallocarray(v->item, room, sizeof(struct mi_value *));

		if (!p)
			return -1;
		v->item = p;
	}
	v->item[v->n++] = item;
	return 0;
}

const struct mi_value *mi_get(const struct mi_value *v, const char *name)
{
	if (!v)
		return NULL;
	for (size_t i = 0; i < v->n; i++)
		if (v->item[i]->name && !strcmp(v->item[i]->name, name))
			return v->item[i];
	return NULL;
}

const char *mi_str(const struct mi_value *v, const char *name)
{
	const struct mi_value *item = mi_get(v, name);

	return item && item->kind == MI_STRING ? item->str : NULL;
}

int mi_u64(const struct mi_value *v, const char *name, uint64_t *out)
{
	const char *s = mi_str(v, name);
	char *end;
	uint64_t n;

	if (!s || *s < '0' || *s > '9')
		return -1;
	errno = 0;
	n = strtoull(s, &end, s[0] == '0' && s[1] == 'x' ? 16 : 10);
	if (errno || end == s)
		return -1;
	*out = n;
	return 0;
}

int mi_int(const struct mi_value *v, const char *name, int *out)
{
	uint64_t n;

	if (mi_u64(v, name, &n) || n > INT_MAX)
		return -1;
	*out = (int)n;
	return 0;
}
