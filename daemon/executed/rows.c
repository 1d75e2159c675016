/* SPDX-License-Identifier: MIT */
/* rows.c: see rows.h. */
#include "executed/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsonx.h"

#define FULL 32768 /* bytes that are sent together */
#define U(x) ((unsigned long long)(x))

void rows_flush(struct rows *r)
{
	if (r->b.len)
		op_output(r->ctx, 1, r->b.data, r->b.len);
	buf_clear(&r->b);
}

void rows_add(struct rows *r, json_t *row)
{
	char *text = json_dumps(row, JSON_COMPACT);

	if (text) {
		buf_add_str(&r->b, text);
		buf_add_char(&r->b, '\n');
		r->n++;
	}
	free(text);
	json_decref(row);
	if (r->b.len >= FULL)
		rows_flush(r);
}

void rows_fini(struct rows *r)
{
	buf_fini(&r->b);
}

json_t *rows_point(const struct timeline_point *p)
{
	return p->pc ? json_sprintf("%llu/0x%llx#%llu", U(p->event), U(p->pc), U(p->hits))
		     : json_sprintf("%llu", U(p->event));
}

static json_t *text_of(const char *s)
{
	return s ? json_text(s, strlen(s)) : json_null();
}

void rows_place(json_t *row, const struct code_place *p)
{
	json_object_set_new(row, "function", text_of(p->function));
	json_object_set_new(row, "file", text_of(p->file));
	json_object_set_new(row, "line", p->line ? json_integer(p->line) : json_null());
}
