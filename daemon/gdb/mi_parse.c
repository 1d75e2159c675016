/* SPDX-License-Identifier: MIT */
/*
 * mi_parse.c: recursive descent over the grammar in the GDB manual, "GDB/MI Output Syntax", with two
 * things that GDB really prints: lists may mix values and results, and so may the result part of a
 * record (GDB 12 and older print `bkpt={...},{...}`).
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gdb/mi_parse.h"

struct mi_cursor {
	const char *start, *p, *end;
	int depth;
	struct err *e;
};

static int bad(struct mi_cursor *c, const char *what)
{
	return err_set(c->e, ERR_INTERNAL, "GDB/MI output, byte %zu: %s", (size_t)(c->p - c->start), what);
}

static bool at(const struct mi_cursor *c, char ch)
{
	return c->p < c->end && *c->p == ch;
}

static bool take(struct mi_cursor *c, char ch)
{
	if (!at(c, ch))
		return false;
	c->p++;
	return true;
}

static bool is_octal(const struct mi_cursor *c)
{
	return c->p < c->end && *c->p >= '0' && *c->p <= '7';
}

static int take_octal(struct mi_cursor *c)
{
	unsigned v = 0;

	for (int i = 0; i < 3 && is_octal(c); i++)
		v = v * 8 + (unsigned)(*c->p++ - '0');
	return (int)(v & 0xff);
}

/* The byte after a backslash; -1: no such escape. */
static int take_escape(struct mi_cursor *c)
{
	static const char from[] = "abefnrtv\\\"'";
	static const char to[] = "\a\b\033\f\n\r\t\v\\\"'";
	const char *hit;

	if (c->p >= c->end)
		return -1;
	if (is_octal(c))
		return take_octal(c);
	hit = *c->p ? strchr(from, *c->p) : NULL;
	if (!hit)
		return -1;
	c->p++;
	return (unsigned char)to[hit - from];
}

/* A c-string with its quotes. On success *out is the caller's. */
static int parse_cstring(struct mi_cursor *c, char **out, size_t *len)
{
	char *buf, *w;

	if (!take(c, '"'))
		return bad(c, "a quote was expected");
	buf = w = malloc((size_t)(c->end - c->p) + 1);
	if (!buf)
		return bad(c, "out of memory");
	while (c->p < c->end && *c->p != '"') {
		int ch = (unsigned char)*c->p++;

		if (ch == '\\')
			ch = take_escape(c);
		if (ch < 0) {
			free(buf);
			return bad(c, "bad escape in a string");
		}
		*w++ = (char)ch;
	}
	if (!take(c, '"')) {
		free(buf);
		return bad(c, "a string without its end");
	}
	*w = '\0';
	*len = (size_t)(w - buf);
	*out = buf;
	return 0;
}

static bool is_name_char(char ch)
{
	return isalnum((unsigned char)ch) || ch == '-' || ch == '_' || ch == '.';
}

static int parse_name(struct mi_cursor *c, char **out)
{
	const char *from = c->p;

	while (c->p < c->end && is_name_char(*c->p))
		c->p++;
	if (c->p == from)
		return bad(c, "a name was expected");
	*out = strndup(from, (size_t)(c->p - from));
	return *out ? 0 : bad(c, "out of memory");
}

static int parse_value(struct mi_cursor *c, struct mi_value **out);

/* A value, or name=value. */
static int parse_item(struct mi_cursor *c, struct mi_value **out)
{
	char *name = NULL;

	if (c->p < c->end && is_name_char(*c->p)) {
		if (parse_name(c, &name))
			return -1;
		if (!take(c, '=')) {
			free(name);
			return bad(c, "'=' was expected");
		}
	}
	if (parse_value(c, out)) {
		free(name);
		return -1;
	}
	(*out)->name = name;
	return 0;
}

static int add_item(struct mi_cursor *c, struct mi_value *into)
{
	struct mi_value *item = NULL;

	if (parse_item(c, &item))
		return -1;
	if (mi_value_add(into, item)) {
		mi_value_free(item);
		return bad(c, "out of memory");
	}
	return 0;
}

static int parse_items(struct mi_cursor *c, struct mi_value *into, char close)
{
	if (take(c, close))
		return 0;
	do {
		if (add_item(c, into))
			return -1;
	} while (take(c, ','));
	return take(c, close) ? 0 : bad(c, "a tuple or list without its end");
}

static int parse_group(struct mi_cursor *c, struct mi_value **out)
{
	bool tuple = *c->p++ == '{';
	struct mi_value *v;
	int r;

	if (c->depth >= MI_MAX_DEPTH)
		return bad(c, "nested too deeply");
	v = mi_value_new(tuple ? MI_TUPLE : MI_LIST);
	if (!v)
		return bad(c, "out of memory");
	c->depth++;
	r = parse_items(c, v, tuple ? '}' : ']');
	c->depth--;
	if (r) {
		mi_value_free(v);
		return -1;
	}
	*out = v;
	return 0;
}

static int parse_string_value(struct mi_cursor *c, struct mi_value **out)
{
	struct mi_value *v = mi_value_new(MI_STRING);

	if (!v)
		return bad(c, "out of memory");
	if (parse_cstring(c, &v->str, &v->len)) {
		mi_value_free(v);
		return -1;
	}
	*out = v;
	return 0;
}

static int parse_value(struct mi_cursor *c, struct mi_value **out)
{
	if (at(c, '"'))
		return parse_string_value(c, out);
	if (at(c, '{') || at(c, '['))
		return parse_group(c, out);
	return bad(c, "a value was expected");
}

static int parse_token(struct mi_cursor *c, int64_t *token)
{
	int64_t v = 0;
	const char *from = c->p;

	while (c->p < c->end && isdigit((unsigned char)*c->p)) {
		if (c->p - from >= 18)
			return bad(c, "token too long");
		v = v * 10 + (*c->p++ - '0');
	}
	*token = c->p == from ? -1 : v;
	return 0;
}

static int parse_class_and_results(struct mi_cursor *c, struct mi_record *r)
{
	r->results = mi_value_new(MI_TUPLE);
	if (!r->results)
		return bad(c, "out of memory");
	if (parse_name(c, &r->klass))
		return -1;
	while (take(c, ','))
		if (add_item(c, r->results))
			return -1;
	return 0;
}

static int parse_prompt(struct mi_cursor *c)
{
	static const char prompt[] = "gdb)";
	size_t n = sizeof(prompt) - 1;

	if ((size_t)(c->end - c->p) < n || memcmp(c->p, prompt, n))
		return bad(c, "a prompt was expected");
	c->p += n;
	while (take(c, ' '))
		;
	return 0;
}

static int parse_body(struct mi_cursor *c, struct mi_record *r)
{
	if (c->p >= c->end)
		return bad(c, "an empty line");
	r->type = (enum mi_type) * c->p++;
	switch (r->type) {
	case MI_RESULT:
	case MI_EXEC:
	case MI_STATUS:
	case MI_NOTIFY:
		return parse_class_and_results(c, r);
	case MI_CONSOLE:
	case MI_TARGET:
	case MI_LOG:
		return parse_cstring(c, &r->text, &r->text_len);
	case MI_PROMPT:
		return parse_prompt(c);
	}
	c->p--;
	return bad(c, "not a GDB/MI record");
}

int mi_parse(const char *line, size_t len, struct mi_record **out, struct err *e)
{
	struct mi_cursor c = {.start = line, .p = line, .end = line + len, .e = e};
	struct mi_record *r = calloc(1, sizeof(*r));

	if (!r)
		return bad(&c, "out of memory");
	if (len && c.end[-1] == '\n')
		c.end--;
	if (c.end > c.p && c.end[-1] == '\r')
		c.end--;
	if (parse_token(&c, &r->token) || parse_body(&c, r))
		goto fail;
	if (c.p != c.end) {
		bad(&c, "something after the end of the record");
		goto fail;
	}
	*out = r;
	return 0;
fail:
	mi_record_free(r);
	return -1;
}

void mi_record_free(struct mi_record *r)
{
	if (!r)
		return;
	mi_value_free(r->results);
	free(r->klass);
	free(r->text);
	free(r);
}
