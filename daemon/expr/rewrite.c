/* SPDX-License-Identifier: MIT */
/*
 * rewrite.c: finds the operands of an expression: `*` and `&` in front, a name, number or group, then [..], (..), .name
 * and ->name. Everything between operands is copied. GDB may refuse to compile the result; but a wrong guess here never
 * leads to a wrong value, since only addresses of names, and casts to long of whole operands, are put in.
 */
#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "expr/rewrite.h"
#include "expr/text.h"

#define MAX_DEPTH 64

struct scan {
	const char *p;
	const struct rewrite_ops *ops;
	void *ctx;
	int depth;
	int calls; /* how many argument lists the current place is in */
	bool failed;
};

static bool name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static void skip_blanks(struct scan *s)
{
	while (isspace((unsigned char)*s->p))
		s->p++;
}

/* Moves behind a quoted text. */
static void skip_quoted(struct scan *s)
{
	const char *after = text_after_quote(s->p);

	s->failed |= !after;
	s->p = after ? after : s->p + strlen(s->p);
}

/* Moves behind a name with its scopes (a, N::C::m, 'file.c'::v, ::g), or a character constant, which looks similar. */
static void skip_name(struct scan *s)
{
	for (;;) {
		if (str_starts(s->p, "::"))
			s->p += 2;
		if (*s->p == '\'')
			skip_quoted(s);
		else
			while (text_is_name(*s->p))
				s->p++;
		if (s->failed || !str_starts(s->p, "::"))
			return;
	}
}

static void expression(struct scan *s, char stop, struct buf *out);

/* Copies a bracketed part with its brackets; its inside is rewritten. */
static void group(struct scan *s, char close, struct buf *out)
{
	if (++s->depth > MAX_DEPTH) {
		s->failed = true;
		return;
	}
	buf_add_char(out, *s->p++);
	expression(s, close, out);
	if (*s->p == close)
		buf_add_char(out, *s->p++);
	else
		s->failed = true;
	s->depth--;
}

/* Replaces the object in out from `from` on, and `what` after it; false: there is no replacement. */
static bool replaced(struct scan *s, struct buf *out, size_t from, const char *what, bool arrow, const char *index)
{
	cleanup_free char *object = NULL, *by = NULL;

	if (!s->ops->member || s->failed || out->len == from)
		return false;
	object = xstrdup(buf_str(out) + from);
	by = s->ops->member(s->ctx, object, what, arrow, index);
	if (!by)
		return false;
	out->len = from;
	buf_add_str(out, by);
	return true;
}

static void subscript(struct scan *s, struct buf *out, size_t from)
{
	cleanup_buf struct buf part = {0};
	cleanup_free char *index = NULL;

	group(s, ']', &part);
	if (s->failed)
		return;
	index = xstrndup(buf_str(&part) + 1, part.len - 2);
	if (!replaced(s, out, from, "[", false, index))
		buf_add(out, buf_str(&part), part.len);
}

/*
 * Handles a member of the object that ends in out at *base. If object and member are replaced together, the result is a
 * new object.
 */
static void place_member(struct scan *s, struct buf *out, size_t from, size_t *base)
{
	cleanup_free char *object = NULL, *path = NULL, *by = NULL;

	if (!s->ops->member_at || s->failed || *base == from)
		return;
	object = xstrndup(buf_str(out) + from, *base - from);
	path = xstrdup(buf_str(out) + *base);
	by = s->ops->member_at(s->ctx, object, path);
	if (!by)
		return;
	out->len = from;
	buf_add_str(out, by);
	*base = out->len;
}

/* .name or ->name, with its empty brackets if it has such. base: where the object of the members that are selected
 * ends. */
static void selected(struct scan *s, struct buf *out, size_t from, size_t *base)
{
	bool arrow = *s->p == '-';
	cleanup_free char *name = NULL;
	const char *op = s->p, *begin, *after;

	s->p += arrow ? 2 : 1;
	skip_blanks(s);
	begin = s->p;
	skip_name(s);
	name = xstrndup(begin, (size_t)(s->p - begin));
	after = s->p + strspn(s->p, " \t");
	if (*after == '(' && after[1 + strspn(after + 1, " \t")] == ')') {
		after += 1 + strspn(after + 1, " \t");
		if (replaced(s, out, from, name, arrow, NULL)) {
			s->p = after + 1;
			return;
		}
	}
	/* .at(i) is [i] with a check; so is .test(i) of a bitset */
	if (!arrow && *after == '(' && (!strcmp(name, "at") || !strcmp(name, "test"))) {
		cleanup_buf struct buf part = {0};
		cleanup_free char *index = NULL;

		s->p = after;
		group(s, ')', &part);
		if (s->failed)
			return;
		index = xstrndup(buf_str(&part) + 1, part.len - 2);
		if (replaced(s, out, from, "[", false, index))
			return;
		buf_add(out, op, (size_t)(after - op));
		buf_add(out, buf_str(&part), part.len);
		return;
	}
	/* an object that acts as a pointer is replaced by one; then the object it points to may have the method */
	if (arrow && replaced(s, out, from, "->", false, NULL) && *after == ')' &&
	    replaced(s, out, from, name, arrow, NULL)) {
		s->p = after + 1;
		return;
	}
	if (arrow)
		*base = out->len;
	buf_add(out, op, (size_t)(s->p - op));
	place_member(s, out, from, base);
}

/* Handles [..], (..), .name, ->name; the operand before them begins in out at `from`. */
static void postfix(struct scan *s, struct buf *out, size_t from)
{
	size_t base = out->len;

	for (;;) {
		const char *begin = s->p;

		skip_blanks(s);
		if (s->failed)
			return;
		if (*s->p == '[') {
			subscript(s, out, from);
			base = out->len;
		} else if (*s->p == '(') {
			s->calls++;
			group(s, ')', out);
			s->calls--;
			base = out->len;
		} else if (*s->p && (*s->p == '.' || str_starts(s->p, "->"))) {
			selected(s, out, from, &base);
		} else {
			s->p = begin;
			return;
		}
	}
}

/* In (T *) the name is that of a type. */
static bool is_pointed_to(const char *after)
{
	const char *p = after + strspn(after, " \t");

	return *p == '*' && p[strspn(p, "* \t")] == ')';
}

/* out: what stands in front of the name in its operand. */
static void put_name(struct scan *s, const char *name, struct buf *out)
{
	cleanup_free char *by = NULL;
	bool addressed = s->ops->resolve_addressed && out->len && memchr(buf_str(out), '&', out->len);

	if (!s->ops->resolve || is_pointed_to(s->p)) {
		buf_add_str(out, name);
		return;
	}
	switch ((addressed ? s->ops->resolve_addressed : s->ops->resolve)(s->ctx, name, &by)) {
	case REWRITE_KEEP:
		buf_add_str(out, name);
		break;
	case REWRITE_REPLACE:
		buf_add_str(out, by);
		break;
	case REWRITE_REFUSE:
		s->failed = true;
		break;
	}
}

static void primary(struct scan *s, struct buf *out)
{
	const char *from = s->p;

	if (*s->p == '(') {
		group(s, ')', out);
	} else if (*s->p == '"') {
		skip_quoted(s);
		buf_add(out, from, (size_t)(s->p - from));
	} else if (isdigit((unsigned char)*s->p)) {
		while (text_is_name(*s->p) || *s->p == '.')
			s->p++;
		buf_add(out, from, (size_t)(s->p - from));
	} else {
		cleanup_free char *name = NULL;

		skip_name(s);
		name = xstrndup(from, (size_t)(s->p - from));
		if (*name && !name[strspn(name, ":")]) /* "::" alone: GDB 13 aborts when it is asked about it */
			s->failed = true;
		else
			put_name(s, name, out);
	}
}

/* Is there ++ or -- before the operand (at the end of out) or after it? */
static bool is_stepped(const struct scan *s, const struct buf *out)
{
	const char *after = s->p + strspn(s->p, " \t");
	size_t n = out->len;

	while (n && isspace((unsigned char)buf_str(out)[n - 1]))
		n--;
	return str_starts(after, "++") || str_starts(after, "--") ||
	       (n > 1 && strchr("+-", buf_str(out)[n - 1]) && buf_str(out)[n - 2] == buf_str(out)[n - 1]);
}

/*
 * Replaces an object that acts as a value by that value, if the value is needed. (If the object is the whole
 * expression, it is shown as it is.)
 */
static void as_value(struct scan *s, struct buf *text, size_t from, const struct buf *out)
{
	bool alone = !s->depth && !out->len && !from && !s->p[strspn(s->p, " \t")];

	if (alone || s->calls || memchr(buf_str(text), '&', from) || is_stepped(s, out))
		return;
	if (!from || buf_str(text)[from - 1] != '*' || !replaced(s, text, from, "*", false, NULL))
		replaced(s, text, from, "", false, NULL);
}

static void operand(struct scan *s, struct buf *out)
{
	cleanup_buf struct buf text = {0};
	size_t from;

	while (*s->p == '*' || *s->p == '&' || isspace((unsigned char)*s->p))
		buf_add_char(&text, *s->p++);
	from = text.len;
	if (*s->p && (name_start(*s->p) || isdigit((unsigned char)*s->p) || strchr("(\"':", *s->p)))
		primary(s, &text);
	postfix(s, &text, from);
	if (s->failed)
		return;
	as_value(s, &text, from, out);
	if (text.len && !is_pointed_to(s->p) && s->ops->needs_cast && s->ops->needs_cast(s->ctx, buf_str(&text))) {
		buf_addf(out, "((long)(%s))", buf_str(&text));
	} else {
		buf_add_str(out, buf_str(&text));
	}
}

/* After these words comes the name of a type, whatever else has that name. */
static bool is_tag_keyword(const char *p)
{
	static const char *const words[] = {"struct", "union", "enum", "class", "typename"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (str_starts(p, words[i]) && isspace((unsigned char)p[strlen(words[i])]))
			return true;
	return false;
}

/* "struct NAME", copied. */
static void tagged_type(struct scan *s, struct buf *out)
{
	const char *from = s->p;

	skip_name(s);
	skip_blanks(s);
	skip_name(s);
	buf_add(out, from, (size_t)(s->p - from));
}

static bool starts_operand(const char *p)
{
	return *p && (name_start(*p) || isdigit((unsigned char)*p) || strchr("(\"'*&", *p) || str_starts(p, "::"));
}

/* Handles left == right: out contains `LEFT OP RIGHT` from `left` on. */
static void compared(struct scan *s, struct buf *out, size_t left, size_t op, size_t right)
{
	cleanup_free char *object = NULL, *other = NULL, *by = NULL;

	if (!s->ops->member || s->failed)
		return;
	object = xstrndup(buf_str(out) + left, op - left);
	other = xstrdup(buf_str(out) + right);
	by = s->ops->member(s->ctx, object, buf_str(out)[op] == '=' ? "==" : "!=", false, other);
	if (!by)
		return;
	out->len = left;
	buf_add_str(out, by);
}

/* Copies operands and what is between them, up to `stop` (which is not copied) or the end. */
static void expression(struct scan *s, char stop, struct buf *out)
{
	bool has_left_operand = false;
	size_t last = 0, op = 0; /* positions in out: of the last operand, and of == or != after it (0: none) */

	while (*s->p && *s->p != stop && !s->failed) {
		const char *before = s->p;

		if (*s->p == ')' || *s->p == ']') {
			s->failed = true;
		} else if (isspace((unsigned char)*s->p)) {
			buf_add_char(out, *s->p++);
		} else if (is_tag_keyword(s->p)) {
			tagged_type(s, out);
			has_left_operand = false;
			op = 0;
		} else if (starts_operand(s->p) && !(has_left_operand && (*s->p == '*' || *s->p == '&'))) {
			size_t at = out->len;

			operand(s, out);
			s->failed |= s->p == before;
			if (op)
				compared(s, out, last, op, at);
			last = op ? last : at;
			op = 0;
			has_left_operand = true;
		} else {
			op = 0;
			if (has_left_operand && (str_starts(s->p, "==") || str_starts(s->p, "!="))) {
				op = out->len;
				buf_add_char(out, *s->p++);
			} else if (str_starts(s->p, "&&")) {
				/*
				 * both characters of an operator, since the second one alone would look like an
				 * address-of
				 */
				buf_add_char(out, *s->p++);
			}
			buf_add_char(out, *s->p++);
			has_left_operand = false;
		}
	}
}

int rewrite_expr(const char *expr, const struct rewrite_ops *ops, void *ctx, char **out)
{
	struct scan s = {.p = expr, .ops = ops, .ctx = ctx};
	cleanup_buf struct buf b = {0};

	expression(&s, '\0', &b);
	if (s.failed || !b.len)
		return 1;
	*out = buf_steal(&b);
	return 0;
}
