/* SPDX-License-Identifier: MIT */
/*
 * condition_macro.c: see condition.h: the macros of a program, which GDB does not know unless the program was compiled
 * with -g3. One that is defined twice in different ways, or undefined anywhere, is left as it is: which of these a line
 * means is not looked for. So is one that is defined, or included, under a condition other than a header's guard: the
 * compiler may have another definition, from its options for one.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "chain/condition_macro.h"
#include "expr/text.h"

#define PARAMETERS 4u
#define DEPTH_MOST 8u
#define LONGEST 1000u /* of what an expression becomes */

struct macro {
	char *name, *body; /* malloc'd; body NULL: it is not known, or is no expression */
	bool call; /* it takes arguments */
	unsigned n;
	char *parameter[PARAMETERS]; /* malloc'd */
};

static size_t name_at(const char *s)
{
	size_t n = 0;

	while (!isdigit((unsigned char)*s) && text_is_name(s[n]))
		n++;
	return n;
}

/* The length of the name, number, literal or other character at s. */
static size_t part_at(const char *s)
{
	const char *quoted = text_is_quote(*s) ? text_after_quote(s) : NULL;
	size_t n = 1;

	if (quoted)
		return (size_t)(quoted - s);
	while (text_is_name(*s) && text_is_name(s[n]))
		n++;
	return n;
}

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

/* Is that the name of n characters at s? */
static bool is_same(const char *name, const char *s, size_t n)
{
	return strlen(name) == n && !strncmp(name, s, n);
}

static struct macro *find(const struct macros *m, const char *s, size_t n)
{
	for (size_t k = 0; k < m->n; k++)
		if (is_same(m->v[k].name, s, n))
			return &m->v[k];
	return NULL;
}

static void drop_body(struct macro *o)
{
	free(o->body);
	o->body = NULL;
}

static void fini_one(struct macro *o)
{
	free(o->name);
	free(o->body);
	for (unsigned k = 0; k < o->n; k++)
		free(o->parameter[k]);
}

/* The line at s with those that continue it, without comments; *next: after it. malloc'd. */
static char *read_line(const char *s, const char **next)
{
	struct buf b = {0};

	while (*s && *s != '\n') {
		if (*s == '\\' && s[1] == '\n') {
			s += 2;
			buf_add_char(&b, ' ');
		} else if (!strncmp(s, "//", 2)) {
			s += strcspn(s, "\n");
		} else if (!strncmp(s, "/*", 2)) {
			const char *end = strstr(s + 2, "*/");

			s = end ? end + 2 : s + strlen(s);
			buf_add_char(&b, ' ');
		} else {
			buf_add_char(&b, *s++);
		}
	}
	*next = *s ? s + 1 : s;
	return buf_steal(&b);
}

/* Is it an expression that changes nothing, as far as its text tells? */
static bool is_expression(const char *body)
{
	int depth = 0;

	for (const char *s = body; *s; s++) {
		bool compares = *s == '=' && (s[1] == '=' || (s > body && strchr("=!<>", s[-1])));

		if (strchr("#\"{};\\", *s) || (*s == '=' && !compares) || ((*s == '+' || *s == '-') && s[1] == *s))
			return false;
		depth += *s == '(' ? 1 : *s == ')' ? -1 : 0;
		if (depth < 0)
			return false;
	}
	return *body && !depth && !strstr(body, "<<=") && !strstr(body, ">>=");
}

/* The parameters at s, which is after the bracket. After them; NULL: they are not understood. */
static const char *read_parameters(struct macro *o, const char *s)
{
	for (s = skip_blanks(s); *s != ')';) {
		size_t n = name_at(s);

		if (!n || o->n >= PARAMETERS)
			return NULL;
		o->parameter[o->n++] = xstrndup(s, n);
		s = skip_blanks(s + n);
		if (*s == ',')
			s = skip_blanks(s + 1);
		else if (*s != ')')
			return NULL;
	}
	return s + 1;
}

/* s: after "define". */
static void define(struct macros *m, const char *s)
{
	size_t n = name_at(s = skip_blanks(s)), len;
	struct macro one = {0}, *old = find(m, s, n);

	if (!n)
		return;
	one.name = xstrndup(s, n);
	one.call = s[n] == '(';
	s = one.call ? read_parameters(&one, s + n + 1) : s + n;
	s = s ? skip_blanks(s) : "";
	for (len = strlen(s); len && isspace((unsigned char)s[len - 1]);)
		len--;
	one.body = xstrndup(s, len);
	if (!is_expression(one.body))
		drop_body(&one);
	if (old) {
		bool same = old->call == one.call && old->n == one.n && str_eq(old->body, one.body);

		for (unsigned k = 0; same && k < one.n; k++)
			same = str_eq(old->parameter[k], one.parameter[k]);
		if (!same)
			drop_body(old);
		fini_one(&one);
		return;
	}
	m->v = xrealloc(m->v, (m->n + 1) * sizeof(*m->v));
	m->v[m->n++] = one;
}

/* s: a name; what it stands for is not known. */
static void forget(struct macros *m, const char *s)
{
	struct macro *o = find(m, s, name_at(s));

	if (o)
		drop_body(o);
}

static void add_include(struct macros *m, const char *s)
{
	const char *end;

	s = skip_blanks(s);
	end = *s == '"' ? strchr(s + 1, '"') : NULL;
	if (end) {
		cleanup_free char *name = xstrndup(s + 1, (size_t)(end - s - 1));

		if (!strv_has(&m->includes, name))
			strv_add(&m->includes, name);
	}
}

/* The conditions around a line. */
struct around {
	unsigned depth;
	unsigned guard; /* which of them, counted from 1, is a header's guard; 0: none */
	char *ifndef; /* the name, if the directive before this one is the first and an `ifndef'; malloc'd */
	bool any; /* there was a directive before this one */
};

/* A guard defines its name as nothing, right after it has asked for it. */
static bool is_guard(const struct around *a, const char *s)
{
	size_t n = name_at(s);

	return a->ifndef && is_same(a->ifndef, s, n) && !s[n + strspn(s + n, " \t\r")];
}

static bool is_conditional(const struct around *a)
{
	return a->depth > (a->guard ? 1u : 0u);
}

/* s: a directive's name and what follows it. */
static void read_directive(struct macros *m, struct around *a, const char *s)
{
	size_t n = name_at(s);
	const char *rest = skip_blanks(s + n);
	char *ifndef = NULL;

	if (n == 6 && str_starts(s, "define")) {
		if (is_guard(a, rest))
			a->guard = a->depth;
		define(m, rest);
		if (is_conditional(a))
			forget(m, rest);
	} else if (n == 5 && str_starts(s, "undef")) {
		forget(m, rest);
	} else if (str_starts(s, "include")) {
		if (!is_conditional(a))
			add_include(m, s + 7);
	} else if (str_starts(s, "if")) {
		a->depth++;
		if (!a->any && n == 6 && str_starts(s, "ifndef"))
			ifndef = xstrndup(rest, name_at(rest));
	} else if (n == 5 && str_starts(s, "endif") && a->depth) {
		if (a->depth-- == a->guard)
			a->guard = 0;
	}
	free(a->ifndef);
	a->ifndef = ifndef;
	a->any = true;
}

void macros_read(struct macros *m, const char *source)
{
	struct around a = {0};

	while (*source) {
		const char *s = skip_blanks(source);

		if (*s == '#') {
			cleanup_free char *line = read_line(s + 1, &source);

			read_directive(m, &a, skip_blanks(line));
		} else {
			source = strchrnul(source, '\n');
			source += *source != '\0';
		}
	}
	free(a.ifndef);
}

void macros_fini(struct macros *m)
{
	for (size_t k = 0; k < m->n; k++)
		fini_one(&m->v[k]);
	free(m->v);
	strv_fini(&m->includes);
}

/* ---- expansion ---- */

struct arguments {
	const char *at[PARAMETERS];
	size_t len[PARAMETERS];
};

/* The arguments at s, which is at the bracket. After them; NULL: there are not n. */
static const char *read_arguments(const char *s, unsigned n, struct arguments *a)
{
	const char *end = text_after_group(s);
	unsigned k = 0;

	if (!end || !n)
		return NULL;
	a->at[0] = ++s;
	while (s < end - 1) {
		const char *after = strchr("([\"'", *s) ? text_after_group(s) : s + 1;

		if (!after)
			return NULL;
		if (*s == ',') {
			if (k + 1 >= n)
				return NULL;
			a->len[k] = (size_t)(s - a->at[k]);
			a->at[++k] = s + 1;
		}
		s = after;
	}
	a->len[k] = (size_t)(s - a->at[k]);
	return k + 1 == n ? end : NULL;
}

/* The body of the macro with the arguments in the places of its parameters. */
static void substitute(const struct macro *o, const struct arguments *a, struct buf *out)
{
	for (const char *s = o->body; *s;) {
		size_t n = part_at(s);
		unsigned k = 0;

		while (k < o->n && !is_same(o->parameter[k], s, n))
			k++;
		buf_add(out, k < o->n ? a->at[k] : s, k < o->n ? a->len[k] : n);
		s += n;
	}
}

/* Is it a name or a number alone, which needs no brackets? */
static bool is_one_word(const char *s)
{
	while (text_is_name(*s))
		s++;
	return !*s;
}

/* One pass over the text. false: no macro is in it. */
static bool expand_once(const struct macros *m, const char *s, struct buf *out)
{
	bool any = false;

	while (*s) {
		const struct macro *o = find(m, s, name_at(s));
		const char *after = s + part_at(s), *open = skip_blanks(after);
		cleanup_buf struct buf body = {0};
		struct arguments a = {0};

		if (o && o->call)
			open = *open == '(' ? read_arguments(open, o->n, &a) : NULL;
		if (!o || !o->body || !open) {
			buf_add(out, s, (size_t)(after - s));
			s = after;
			continue;
		}
		substitute(o, &a, &body);
		buf_addf(out, is_one_word(buf_str(&body)) ? "%s" : "(%s)", buf_str(&body));
		s = o->call ? open : after;
		any = true;
	}
	return any;
}

char *macros_expand(const struct macros *m, const char *expr)
{
	char *now = xstrdup(expr);

	for (unsigned depth = 0; m->n && depth < DEPTH_MOST; depth++) {
		struct buf next = {0};

		if (!expand_once(m, now, &next) || next.len > LONGEST) {
			buf_fini(&next);
			return now;
		}
		free(now);
		now = buf_steal(&next);
	}
	if (!m->n)
		return now;
	free(now); /* it contains itself */
	return xstrdup(expr);
}
