/* SPDX-License-Identifier: MIT */
/* casts.c: see casts.h. */
#include "expr/casts.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "expr/text.h"

#define SOME_OBJECT 0x100000 /* no object is needed to know the distance from it to its base class */

/* (TYPE)OPERAND in a text. */
struct cast {
	const char *type, *type_end, *operand, *end;
};

static const char *skip_blanks(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

/* a.b->c[i](x) */
static const char *after_postfix(const char *s)
{
	for (;;) {
		const char *next = skip_blanks(s);

		if (*next == '[' || *next == '(') {
			s = text_after_group(next);
			if (!s)
				return NULL;
		} else if (*next == '.' || str_starts(next, "->")) {
			s = skip_blanks(next + (*next == '.' ? 1 : 2));
			while (text_is_name(*s) || *s == ':')
				s++;
		} else {
			return s;
		}
	}
}

/* The end of the operand that a cast applies to. NULL: it is not of a form known here. */
static const char *after_operand(const char *s)
{
	s = skip_blanks(s);
	while (*s && strchr("*&!~-+", *s))
		s = skip_blanks(s + 1);
	if (*s == '(') {
		const char *after = text_after_group(s), *next = after ? skip_blanks(after) : NULL;

		if (!next)
			return NULL;
		/* a cast of its own */
		return text_is_name(*next) || *next == '(' ? after_operand(next) : after_postfix(after);
	}
	if (!text_is_name(*s) && *s != ':')
		return NULL;
	while (text_is_name(*s) || *s == ':')
		s++;
	return after_postfix(s);
}

/* Where the type in `name <TYPE>` begins; NULL: the text is something else. */
static const char *after_named_cast(const char *s, const char *name)
{
	const char *open = str_starts(s, name) ? skip_blanks(s + strlen(name)) : "";

	return *open == '<' ? open + 1 : NULL;
}

/* The > before the operand's bracket; NULL: there is none. */
static const char *type_end(const char *s)
{
	while ((s = strchr(s, '>')) && *skip_blanks(s + 1) != '(')
		s++;
	return s;
}

/* Does a cast to a pointer or a reference begin here? */
static bool cast_at(const char *s, struct cast *c)
{
	const char *type = after_named_cast(s, "static_cast"), *after, *last;

	if (type) {
		c->type = type;
		c->type_end = type_end(type);
		if (!c->type_end)
			return false;
		c->operand = skip_blanks(c->type_end + 1);
		c->end = text_after_group(c->operand);
		last = c->type_end - 1;
	} else {
		after = *s == '(' ? text_after_group(s) : NULL;
		if (!after)
			return false;
		*c = (struct cast){s + 1, after - 1, skip_blanks(after), after_operand(after)};
		last = after - 2;
	}
	while (last > c->type && isspace((unsigned char)*last))
		last--;
	return c->end && (*last == '*' || *last == '&');
}

static bool is_derived(const struct expr_type *t)
{
	const char *body = strchr(t->definition, '{'), *colon = strstr(t->definition, " : ");

	return body && colon && colon < body;
}

/* Does the cast lead from one class to another? *reference: it is one of a reference. 1: not known. */
static int ask_types(struct gdb *g, const char *cast, const char *operand, const struct expr_place *at, bool *converts,
		     bool *reference, struct err *e)
{
	struct expr_type to = {0}, from = {0};
	int r = expr_type_of(g, cast, at->tid, at->frame, &to, e);

	if (!r)
		r = expr_type_of(g, operand, at->tid, at->frame, &from, e);
	*converts = *reference = false;
	if (!r && (is_derived(&to) || is_derived(&from))) {
		*reference = to.is_reference && from.kind == EXPR_TYPE_AGGREGATE;
		*converts = to.kind == from.kind && strchr(to.definition, '{') && strchr(from.definition, '{') &&
			    strcmp(to.definition, from.definition);
	}
	expr_type_fini(&to);
	expr_type_fini(&from);
	return r && gdb_dead(g) ? -1 : r ? 1 : 0;
}

/* As distance, from a class to its base class; the object's own type does not matter for this. */
static int to_base(struct gdb *g, const char *to, const char *from, const struct expr_place *at, int64_t *out,
		   struct err *e)
{
	cleanup_free char *expr = str_fmt("(long)(%s)(%s)0x%x", to, from, SOME_OBJECT), *value = NULL;
	int r = gdb_eval(g, expr, at->tid, at->frame, 0, &value, e);

	if (r)
		return gdb_dead(g) ? -1 : 1;
	*out = strtoll(value, NULL, 10) - SOME_OBJECT;
	return 0;
}

/* The distance in bytes from the object to the one that the cast leads to. */
static int distance(struct gdb *g, const char *type, const char *operand, const struct expr_place *at, int64_t *out,
		    struct err *e)
{
	cleanup_free char *from = str_fmt("__typeof__(%s)", operand);
	int r = to_base(g, type, from, at, out, e);

	if (r <= 0)
		return r;
	r = to_base(g, from, type, at, out, e);
	*out = -*out;
	return r;
}

/*
 * *by: the text that replaces the cast; NULL: it stays. Casts of other kinds, or without a meaning, are left to the
 * compiler, which may refuse them.
 */
static int spell(struct gdb *g, const struct cast *c, const struct expr_place *at, char **by, struct err *e)
{
	cleanup_free char *type = xstrndup(c->type, (size_t)(c->type_end - c->type));
	cleanup_free char *operand = xstrndup(c->operand, (size_t)(c->end - c->operand)), *inner = NULL;
	cleanup_free char *cast = str_fmt("(%s)(%s)", type, operand);
	bool converts, reference;
	int64_t bytes;
	int r = ask_types(g, cast, operand, at, &converts, &reference, e);

	if (r || !converts)
		return r < 0 ? -1 : 0;
	r = expr_spell_casts(g, operand, at, &inner, e);
	if (r)
		return r;
	if (reference) {
		*strrchr(type, '&') = '*';
		str_set(&inner, "&(%s)", inner ? inner : operand);
	}
	if (distance(g, type, inner ? inner : operand, at, &bytes, e)) {
		err_set(e, ERR_NOT_FOUND, "a cast from or to a base class: (%s)", type);
		return gdb_dead(g) ? -1 : 1;
	}
	*by = str_fmt("(%s(%s)((char *)(%s)+%" PRId64 "))", reference ? "*" : "", type, inner ? inner : operand, bytes);
	return 0;
}

int expr_spell_casts(struct gdb *g, const char *expr, const struct expr_place *at, char **out, struct err *e)
{
	cleanup_buf struct buf text = {0};
	bool any = false;

	*out = NULL;
	for (const char *s = expr; *s;) {
		const char *after = text_is_quote(*s) ? text_after_quote(s) : NULL;
		cleanup_free char *by = NULL;
		struct cast c = {0};

		if (cast_at(s, &c) && spell(g, &c, at, &by, e))
			return gdb_dead(g) ? -1 : 1;
		if (by) {
			buf_add_str(&text, by);
			s = c.end;
			any = true;
			continue;
		}
		if (!after)
			after = s + 1;
		buf_add(&text, s, (size_t)(after - s));
		s = after;
	}
	if (any)
		*out = xstrdup(buf_str(&text));
	return 0;
}

int expr_check_casts(const char *expr, struct err *e)
{
	for (const char *s = expr; *s;) {
		const char *after = text_is_quote(*s) ? text_after_quote(s) : NULL;

		if (after_named_cast(s, "dynamic_cast") && (s == expr || !text_is_name(s[-1])))
			return err_set(e, ERR_USAGE,
				       "GDB computes dynamic_cast wrongly: write static_cast, which gives the same "
				       "address if the object is of that class");
		s = after ? after : s + 1;
	}
	return 0;
}
